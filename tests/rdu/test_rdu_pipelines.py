"""Metapipelines as pipelines: unbalanced stages, skip edges, buffers that are too shallow, nested pipes that drain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patterns.count import tensor_bytes
from patterns.errors import Deadlock
from patterns.library import workload
from patterns.pipeline.program import Program
from patterns.pipeline.simulate import simulate
from patterns.pipeline.uses import flat_ops
from patterns.read import parse_graph
from rdu_model import Choices, Metapipeline, compile_graph, load_machine, lower, lower_metapipe
from rdu_model.emit import emit
from rdu_model.flow import take_apart
from rdu_model.language.depths import shallow_buffers
from rdu_model.pipe import ITERATION, Metapipe
from tests.rdu.pipelines import FAST, PCUS, chain, skip_edge


def program_of(metapipe: Metapipe) -> Program:
    """The program of a metapipe on FAST."""
    return lower_metapipe(metapipe, FAST).calls[0].program


def cycles_of(metapipe: Metapipe) -> int:
    """The time of a metapipe on FAST."""
    return simulate(program_of(metapipe)).total_cycles


@pytest.mark.parametrize("stages", [(5, 9, 4), (9, 5, 4), (4, 5, 9), (36, 4, 4), (4, 4, 4, 4, 4), (12,)])
@pytest.mark.parametrize("steps", [2, 3, 16, 1000])
def test_constant_times_and_double_buffers(stages: tuple[int, ...], steps: int) -> None:
    # sum + (steps - 1) * max, and one cycle each for the load and the store.
    assert cycles_of(chain(stages, steps)) == 1 + sum(stages) + (steps - 1) * max(stages) + 1


def test_single_buffers_make_neighbours_wait_for_each_other() -> None:
    # 5, 9, 4, sixteen steps. Double buffers: 18 + 15 * 9 = 153. Single: 5 and 9 take turns, 18 + 15 * 14 = 228.
    assert cycles_of(chain((5, 9, 4), 16)) - 2 == 153
    assert cycles_of(chain((5, 9, 4), 16, (1, 1, 1))) - 2 == 228
    # Twice the PCUs for the middle stage, 9 -> 5: 14 + 15 * 5 = 89.
    assert cycles_of(chain((5, 5, 4), 16)) - 2 == 89


def test_deeper_buffers_do_not_help_a_stage_that_is_always_slower() -> None:
    assert cycles_of(chain((5, 9, 4), 16, (8, 8, 8))) == cycles_of(chain((5, 9, 4), 16))


def skip(depth: int | None, steps: int = 30) -> Metapipe:
    """x -> a -> b -> c -> (a + c), every stage 4 cycles: a's tile is needed again three stages later."""
    p = Metapipeline("skip")
    x, y = p.input_region("x", "t e", (steps, 36), "fp8"), p.output_region("y", "t e", (steps, 36), "fp8")
    with p.metapipe(steps):
        a = p.buffer(p.map("neg", p.load_tile(x, (1, 36)), pcus=9, name="a"), depth=depth)
        c = p.map("neg", p.map("neg", a, pcus=9, name="b"), pcus=9, name="c")
        p.store_tile(y, p.zip("add", a, c, pcus=9, name="sum"))
    return p.build()


def test_the_depth_of_a_skip_edge_is_its_distance_and_one() -> None:
    depths = {link.name: link.depth for link in take_apart(skip(None)).links}
    assert depths == {"load x": 2, "a": 4, "b": 2, "c": 2, "sum": 2}
    assert cycles_of(skip(None)) == cycles_of(skip(4)) == 1 + 4 * 4 + 29 * 4 + 1


@pytest.mark.parametrize(("depth", "interval"), [(1, 16), (2, 8)])
def test_a_skip_edge_that_is_too_shallow_slows_everything_down(depth: int, interval: int) -> None:
    # A slot of a is taken from the start of a to the end of sum, 16 cycles; `depth` tiles share that time.
    assert cycles_of(skip(depth, 20)) == 1 + 16 + (20 // depth - 1) * 16 + (depth - 1) * 4 + 1
    assert interval == 16 // depth


def test_a_shallow_buffer_is_told_with_what_it_costs_and_the_depth_that_would_do() -> None:
    assert lower_metapipe(skip(None), FAST).warnings == lower_metapipe(skip(4), FAST).warnings == ()
    assert lower_metapipe(skip(2), FAST).warnings == (
        "the buffer of 'a', from 'a' to 'sum', has 2 slots, which slows the metapipe down: 246 cycles, "
        "83.6 % more than 134 with depth=4",
    )


def test_a_shallow_buffer_beside_a_slower_stage_costs_nothing() -> None:
    # 5 and 4 take turns in 9 cycles, and the stage of 9 needs as long: only the buffers beside that one are too small.
    (shallow,) = shallow_buffers(chain((9, 5, 4), 16, (None, 1, 2)), FAST) or (None,)
    assert shallow is None
    both = shallow_buffers(chain((5, 9, 4), 16, (1, 1, 2)), FAST)
    # Each as if the other were deep: 18 + 15 * 14 and 18 + 15 * 13 instead of 153, and 2 for load and store.
    assert [(one.source, one.depth, one.enough, one.cycles, one.best_cycles) for one in both] == [
        ("neg", 1, 2, 230, 155),
        ("neg_2", 1, 2, 215, 155),
    ]


def test_the_rule_gives_unequal_stages_more_than_they_need() -> None:
    # A skip edge over stages 36, 4, 4, 4: the rule says 4 slots, and 48 cycles of one slot fit into 2 times 36.
    (shallow,) = shallow_buffers(skip_edge((36, 4, 4, 4), 20, 0, 3, depth=1), FAST)
    assert (shallow.reader, shallow.depth, shallow.enough) == ("s3", 1, 2)


def nested(outer: int, inner: int, drain: bool) -> Metapipe:
    """An inner pipe of stages 5, 9, 4 inside an outer pipe."""
    p = Metapipeline("nested")
    x, y = (
        p.input_region("x", "o i e", (outer, inner, 36), "fp8"),
        p.output_region("y", "o i e", (outer, inner, 36), "fp8"),
    )
    with p.metapipe(outer, over="o"), p.metapipe(inner, over="i", drain=drain):
        tile = p.load_tile(x, (1, 1, 36))
        for stage in (5, 9, 4):
            tile = p.map("neg", tile, pcus=PCUS[stage])
        p.store_tile(y, tile)
    return p.build()


def test_nested_pipes_stream_on() -> None:
    assert cycles_of(nested(6, 7, drain=False)) == 1 + 18 + (6 * 7 - 1) * 9 + 1


def test_nested_pipes_that_drain_fill_again_each_time() -> None:
    assert cycles_of(nested(6, 7, drain=True)) == 6 * (1 + 18 + 6 * 9 + 1)


def test_pipes_that_drain_inside_one_another_over_one_dim() -> None:
    def cut_twice(drain: bool) -> Metapipe:
        p = Metapipeline("cut_twice")
        x, y = p.input_region("x", "i e", (12, 36), "fp8"), p.output_region("y", "i e", (12, 36), "fp8")
        with p.metapipe(4, over="i", tile=3, drain=drain), p.metapipe(3, over="i", tile=1, drain=True):
            tile = p.load_tile(x, (1, 36))
            for stage in (5, 9, 4):
                tile = p.map("neg", tile, pcus=PCUS[stage])
            p.store_tile(y, tile)
        return p.build()

    assert cycles_of(cut_twice(True)) == cycles_of(cut_twice(False)) == 4 * (1 + 18 + 2 * 9 + 1)


def test_what_only_the_first_iteration_loads_is_in_a_pipe_that_drains() -> None:
    p = Metapipeline("again")
    x, y = p.input_region("x", "i e", (6, 36), "fp8"), p.output_region("y", "i e", (6, 36), "fp8")
    with p.iterations(3):
        with p.metapipe(6, over="i", drain=True):
            made = p.map("neg", p.load_tile(x, (1, 36)), pcus=PCUS[9])
        p.carry(x, made, y)
    assert cycles_of(p.build()) >= 3 * 6 * 9


LOOP = """
name: loop
extents: {times: 6, n: 8, k: 8}
tensors:
  h: {dims: [n], dtype: bf16, role: input}
blocks:
  body:
    count: times
    carried: {h: next}
    tensors:
      w: {dims: [n], dtype: bf16, role: weight}
    nodes:
      scaled: {kind: zip, fn: mul, reads: [h, w]}
      next:   {kind: zip, fn: add, reads: [h, scaled]}
  end:
    nodes:
      y: {kind: map, fn: neg, reads: [next]}
"""


def test_a_carried_tile_with_one_slot_deadlocks_and_says_so() -> None:
    # next reads the old h and writes the new one: it holds one tile while it takes a slot for the other.
    graph = parse_graph(LOOP, "loop.yaml", {})
    program = lower(graph, load_machine("unit"), mode="looped").calls[0].program
    simulate(program)
    tight = tuple(replace(c, slots=1) if c.name == "carry h" else c for c in program.channels)
    with pytest.raises(Deadlock) as caught:
        simulate(replace(program, channels=tight))
    assert "'carry h'" in str(caught.value) or "carry h" in str(caught.value)
    assert "2" in str(caught.value)


def test_iterations_of_a_loop_follow_one_another_through_what_they_carry() -> None:
    # unit, 64 PCUs: h (16 bytes) and w come in 32 cycles, then each iteration is mul (1 cycle) and add (1 cycle); the
    # next w's 16 bytes take longer than that: 32 + 5 * 16 for the weights, + 2 for the last iteration, + 16 to store.
    graph = parse_graph(LOOP, "loop.yaml", {})
    timeline = simulate(lower(graph, load_machine("unit"), mode="looped").calls[0].program)
    assert timeline.total_cycles == 32 + 5 * 16 + 2 + 16


def test_what_iterations_hand_on_is_loaded_by_the_first_of_them() -> None:
    # A short prefill, whose tokens are cut inside each of 32 decoders: the stream comes from memory once.
    graph = workload("llama-3.1-8b", overrides={"seq": "256", "context": "512"})
    section = compile_graph(graph, load_machine("sn40l"), Choices(mode="looped")).sections[1].section
    carried = {carry.name.removeprefix("carry ") for carry in section.flow.metapipe.carries}
    loads = [found for found in section.flow.leaves.values() if getattr(found.leaf, "tensor", "") in carried]
    assert len(loads) == len(carried) == 2
    assert all(found.path[0].dim == ITERATION and len(found.path) > 1 for found in loads)
    for role in emit(section).roles:
        if role.name in {found.name for found in loads}:
            moved = sum(dict(getattr(op, "counts", ())).get("hbm_bytes", 0) * n for op, n in flat_ops(role.script))
            assert moved == tensor_bytes(graph, role.name.removeprefix("load "))

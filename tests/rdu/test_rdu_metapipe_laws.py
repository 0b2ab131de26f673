"""Laws of metapipes, on random ones: right numbers, every byte and operation once, times that no bound forbids."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from patterns.count import node_demand, tensor_bytes
from patterns.evaluate import evaluate, random_arrays
from patterns.numbers.execute import execute
from patterns.pipeline.bounds import lower_bound
from patterns.pipeline.simulate import simulate
from rdu_model import execute_metapipe, load_machine, lower_metapipe, simulate_metapipe
from rdu_model.flow import take_apart
from rdu_model.pipe import Load, Metapipe, Pipe, Stage, Store, placed, trips
from tests.rdu.pipelines import FAST, ROOMY
from tests.rdu.random_metapipes import random_metapipe

SEEDS = st.integers(0, 10**9)


@settings(max_examples=25)
@given(SEEDS)
def test_a_metapipe_makes_of_numbers_what_its_graph_says(seed: int) -> None:
    metapipe, members = random_metapipe(Random(seed))
    arrays = random_arrays(metapipe.graph, seed, members)
    due = evaluate(metapipe.graph, arrays, members)
    found = execute_metapipe(metapipe, arrays)
    assert set(found) == set(due)
    for name, array in due.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-9, atol=1e-9)
    lowered = execute(lower_metapipe(metapipe, FAST), arrays)
    assert all(np.array_equal(lowered[name], found[name]) for name in found)


@settings(max_examples=14)
@given(SEEDS)
def test_a_simulation_is_exact_repeatable_and_within_its_bounds(seed: int) -> None:
    metapipe, _ = random_metapipe(Random(seed))
    for machine in (ROOMY, load_machine("sn40l")):
        program = lower_metapipe(metapipe, machine).calls[0].program
        jumped, full = simulate(program), simulate(program, jump=False)
        assert jumped == simulate(program)
        assert (jumped.total_cycles, jumped.busy, jumped.stalls) == (full.total_cycles, full.busy, full.stalls)
        assert jumped.total_cycles >= lower_bound(program).cycles
        again, _ = random_metapipe(Random(seed))
        assert lower_metapipe(again, machine).calls[0].program == program


def repeats(metapipe: Metapipe, path: tuple[Pipe, ...], dims: tuple[str, ...]) -> int:
    """How often the same tile is handled: in each step of the pipes over other dims."""
    return trips(tuple(pipe for pipe in path if pipe.dim not in dims), metapipe.sizes)


@settings(max_examples=25)
@given(SEEDS)
@example(5374166)  # a contraction of rows that are looked up
def test_every_byte_is_moved_once_for_each_step_that_needs_it_again(seed: int) -> None:
    metapipe, _ = random_metapipe(Random(seed))
    graph, flow = metapipe.graph, take_apart(metapipe)
    moved = dict.fromkeys(("hbm_bytes", "matrix_flops", "network_bytes"), 0)
    for found in placed(metapipe.body):
        if isinstance(found.leaf, Load) and not found.leaf.after:
            dims = graph.tensor_named[found.leaf.tensor].dims
            moved["hbm_bytes"] += tensor_bytes(graph, found.leaf.tensor) * repeats(metapipe, found.path, dims)
        elif isinstance(found.leaf, Store):
            tensor = found.leaf.tensor
            if graph.tensor_named[tensor].shares:  # of a state only the rows are written
                tensor = next(node.reads[2] for _, node in graph.nodes() if node.writes == tensor)
            moved["hbm_bytes"] += tensor_bytes(graph, tensor)
        elif isinstance(found.leaf, Stage):
            asked = flow.asked[found.name]
            times = repeats(metapipe, found.path, asked.dims)
            moved["matrix_flops"] += node_demand(graph, asked.node).matrix_flops * times
    counters = dict(simulate_metapipe(metapipe, ROOMY, spans=False).counters)
    looked_up = any(isinstance(found.leaf, Load) and found.leaf.after for found in placed(metapipe.body))
    assert counters["hbm_bytes"] >= moved["hbm_bytes"] if looked_up else counters["hbm_bytes"] == moved["hbm_bytes"]
    # Rows that are looked up are multiplied as often as the one that is found most often: others may be padded.
    padded = any(asked.lookup and not asked.is_address for asked in flow.asked.values())
    flops = counters.get("matrix_flops", 0)
    assert flops >= moved["matrix_flops"] if padded else flops == moved["matrix_flops"]


@settings(max_examples=10)
@given(SEEDS, st.integers(1, 5))
def test_no_depth_deadlocks_and_a_deeper_one_is_never_worse(seed: int, depth: int) -> None:
    metapipe, _ = random_metapipe(Random(seed))
    sources = sorted({link.source for link in take_apart(metapipe).links})

    def cycles(slots: int) -> int:
        depths = tuple((source, slots) for source in sources)
        program = lower_metapipe(replace(metapipe, depths=depths), FAST).calls[0].program
        return simulate(program, spans=False).total_cycles

    # Memory is shared first come first served: running ahead may let a stream in that somebody else needed more.
    assert cycles(depth + 1) <= cycles(depth) * 1.15

"""What each stage of the compile flow shows: the same as was read once, on graphs that a person can follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import prod

import pytest

from experiments.text.page import page_text
from experiments.text.stage import stage_parts
from patterns.errors import UnknownName
from patterns.library import workload
from patterns.pipeline.bounds import counters_of
from rdu_model import Choices, Metapipeline, compile_graph, compile_metapipe, load_machine
from rdu_model.compilation import Compilation
from rdu_model.compile_stage import Lines, Rows, Shown, show_stage, stage_named, stage_names
from rdu_model.emit import emit
from rdu_model.language.vocabulary import statements
from rdu_model.machine import Machine
from rdu_model.metapipe import steps_of
from rdu_model.pipe import Pipe, trips
from rdu_model.stages.metapipe import asked_pmus
from rdu_model.stages.sections import crossings
from tests.rdu.placed_in_order import placed_in_order

SIZES = {
    "softmax": {"rows": "61", "columns": "64"},
    "gemm": {"m": "24", "n": "40", "k": "100"},
    "attention": {"context": "96", "kv_heads": "2", "head_dim": "16"},
}
FLOW = ("tiling", "parallelize", "metapipe", "sections", "memory", "place", "route", "listing")


@pytest.fixture(scope="module")
def unit() -> Machine:
    return load_machine("unit")


def compiled(graph: str, machine: Machine, mode: str = "fused", **sizes: str) -> Compilation:
    """A graph of the library, small, with every section placed in order."""
    return in_order(compile_graph(workload(graph, overrides=SIZES.get(graph, {}) | sizes), machine, Choices(mode)))


def in_order(made: Compilation) -> Compilation:
    """The compilation with its sections placed in the order of the grid."""
    return replace(made, sections=tuple(replace(one, section=placed_in_order(one.section)) for one in made.sections))


def page(shown: tuple[Shown, ...]) -> str:
    return page_text(stage_parts(shown), 100) + "\n"


def tables(shown: tuple[Shown, ...]) -> list[Rows]:
    return [one for one in shown if isinstance(one, Rows)]


def test_the_stages_are_those_of_the_flow_in_its_order() -> None:
    assert stage_names() == FLOW
    assert [stage_named(name).PLACED for name in FLOW] == [False] * 5 + [True] * 3


@pytest.mark.parametrize("graph", SIZES)
@pytest.mark.parametrize("stage", FLOW)
def test_a_stage_shows_what_was_read(graph: str, stage: str, unit: Machine, golden: Callable[[str, str], None]) -> None:
    golden(f"rdu/stages/{graph}_{stage}.txt", page(show_stage(stage, compiled(graph, unit))))


@pytest.mark.parametrize("graph", ["softmax", "gemm", "attention"])
def test_a_listing_on_sn40l_is_as_it_was_read(graph: str, golden: Callable[[str, str], None]) -> None:
    made = compile_graph(workload(graph), load_machine("sn40l"), Choices("fused"))
    golden(f"rdu/listing_{graph}.txt", page(show_stage("listing", in_order(made))))


def test_the_listing_of_a_decoder_layer_is_as_it_was_read(golden: Callable[[str, str], None]) -> None:
    made = compile_graph(workload("llama-3.2-1b", context=512, members=2), load_machine("sn40l"), Choices("looped"), 2)
    golden("rdu/listing_decoder.txt", page(show_stage("listing", in_order(made), "decoder")))


@pytest.mark.parametrize("stage", FLOW)
def test_a_stage_says_the_same_every_time(stage: str, unit: Machine) -> None:
    assert show_stage(stage, compiled("softmax", unit)) == show_stage(stage, compiled("softmax", unit))


@pytest.mark.parametrize("stage", FLOW)
def test_a_call_is_shown_alone(stage: str, unit: Machine) -> None:
    compilation = compiled("softmax", unit, "unfused")
    alone = page(show_stage(stage, compilation, "softmax.s"))
    assert "softmax.s" in alone
    assert "softmax.y:" not in alone
    assert "softmax.y:" in page(show_stage(stage, compilation)) or stage in ("sections", "memory")
    with pytest.raises(UnknownName, match=r"unknown call 'softmax\.z' \(did you mean"):
        show_stage(stage, compilation, "softmax.z")


def test_an_unknown_stage_is_refused(unit: Machine) -> None:
    with pytest.raises(UnknownName, match=r"unknown compile stage 'rout' \(did you mean 'route'\?\)"):
        show_stage("rout", compiled("softmax", unit))


def test_the_smaller_last_step_is_told(unit: Machine) -> None:
    program = next(
        one for one in show_stage("metapipe", compiled("attention", unit, context="97")) if isinstance(one, Lines)
    )
    assert any("METAPIPE(ceil(context/" in line and "the last of" in line for line in program.lines)


def test_every_leaf_and_buffer_has_its_statement_once(unit: Machine) -> None:
    for graph in SIZES:
        section = compiled(graph, unit).sections[0].section
        abouts = [one.about for one in statements(section) if one.about is not None]
        names = Counter(about.name for about in abouts if hasattr(about, "name"))
        assert names == Counter(dict.fromkeys(section.flow.leaves, 1))
        links = [about.link.name for about in abouts if hasattr(about, "link")]
        assert sorted(links) == sorted(buffer.link.name for buffer in section.buffers)


def test_metapipes_stand_where_the_loops_are(unit: Machine) -> None:
    """Steps of the metapipes around a statement, multiplied, are the tiles of its leaf."""
    section = compiled("attention", unit).sections[0].section
    around: list[Pipe] = []
    for one in statements(section):
        del around[one.depth :]
        if isinstance(one.about, Pipe):
            around.append(one.about)
        elif hasattr(one.about, "name"):
            assert trips(tuple(around), section.flow.metapipe.sizes) == section.flow.tiles_of(one.about.name)


def test_what_asks_for_most_pmus_has_them_where_there_are_enough(unit: Machine) -> None:
    section = compiled("softmax", unit).sections[0].section
    assert section.lacking_pmus == 0
    for buffer in section.buffers:
        assert buffer.pmus == max(asked_pmus(section, buffer).values())


def test_a_shortage_of_pmus_is_told(unit: Machine) -> None:
    few = replace(unit, pmus=60)
    compilation = compiled("softmax", few)
    assert compilation.sections[0].section.lacking_pmus > 0
    assert "asked for: read" in page(show_stage("metapipe", compilation))
    sections = tables(show_stage("sections", compilation))[0]
    assert sections.rows[0][-1] == compilation.sections[0].section.lacking_pmus


def test_pcus_of_the_stages_add_up_and_the_slowest_is_whole(unit: Machine) -> None:
    compilation = compiled("attention", unit)
    stages = tables(show_stage("parallelize", compilation))[0]
    assert sum(row[3] for row in stages.rows if isinstance(row[3], int)) == compilation.sections[0].section.pcus
    assert max(row[8] for row in stages.rows if isinstance(row[8], float)) == 1.0


def test_blocks_of_a_pcu_cover_the_grid_of_the_stage(unit: Machine) -> None:
    for row in tables(show_stage("parallelize", compiled("attention", unit)))[0].rows:
        blocks, pcus, each = str(row[2]), row[3], row[4]
        assert isinstance(pcus, int)
        assert isinstance(each, int)
        assert pcus * each >= prod(int(axis.replace(",", "")) for axis in blocks.split(" x "))


def test_what_crosses_is_what_the_calls_move() -> None:
    """Of unfused calls nothing else moves but inputs, weights and outputs: each byte of HBM is accounted for."""
    compilation = compile_graph(workload("softmax"), load_machine("sn40l"), Choices("unfused"))
    graph = compilation.sections[0].section.flow.metapipe.graph
    assert any(flow.tiles_of("load e") > 1 for flow in (one.section.flow for one in compilation.sections[1:]))
    crossing = list(crossings(compilation))
    assert {(one.tensor, one.maker, one.reader) for one in crossing} == {
        ("e", "softmax.e", "softmax.s"),
        ("e", "softmax.e", "softmax.y"),
        ("s", "softmax.s", "softmax.y"),
    }
    written = {one.tensor: one.written_bytes for one in crossing}
    moved = sum(written.values()) + sum(one.read_bytes for one in crossing)
    outside = sum(2 * graph.elements(name) for name in ("x", "y"))
    in_all = sum(dict(counters_of(emit(one.section)))["hbm_bytes"] for one in compilation.sections)
    assert moved + outside == in_all


def test_a_loop_over_layers_crosses_nothing_between_them() -> None:
    sn40l = load_machine("sn40l")
    graph = workload("llama-3.2-1b", context=256)
    looped = list(crossings(compile_graph(graph, sn40l, Choices("looped"))))
    fused = list(crossings(compile_graph(graph, sn40l, Choices("fused"))))
    assert not [one for one in looped if one.maker == one.reader]
    handed_on = {one.tensor: one.written_bytes for one in looped if one.reader == "head"}
    assert handed_on == {name: 2 * graph.elements(name) for name in ("middle", "down")}
    own = [one for one in fused if one.maker == one.reader]
    assert [one.what for one in own] == ["update, next execution", "embedded, next execution"]


def test_a_written_metapipe_is_shown_as_it_is_written(golden: Callable[[str, str], None]) -> None:
    p = Metapipeline("matmul")
    a, b = p.input_region("A", "m k", (1000, 512)), p.input_region("B", "k n", (512, 256))
    c = p.output_region("C", "n m", (256, 1000))
    with p.metapipe(steps_of(1000, 256)):
        a_tile = p.load_tile(a, (256, 512))
        with p.metapipe(steps_of(256, 64)):
            b_tile = p.load_tile(b, (512, 64), row_par=4)
            made = p.buffer(p.mat_mul(a_tile, b_tile), "n m", depth=3)
            p.store_tile(c, made)
    found = compile_metapipe(p.build(), load_machine("sn40l"))
    golden("rdu/stages/written_metapipe.txt", page(show_stage("metapipe", found)))
    for stage in ("tiling", "parallelize", "sections"):
        assert "matmul" in page(show_stage(stage, found))

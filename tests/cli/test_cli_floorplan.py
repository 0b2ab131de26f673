"""The floorplan: what it shows is what was placed and routed, in two sizes, the same every time."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from matplotlib.text import Text

from experiments.cli import cli
from experiments.export import records_csv
from experiments.floorplan import Floorplan, floorplan_of, records, section_named
from experiments.picture import drawn_floorplan, in_style, saved
from experiments.plot.floorplan import draw
from patterns.errors import UnknownName
from patterns.library import workload
from patterns.read import parse_graph
from rdu_model import Choices, compile_graph, load_machine
from rdu_model.compilation import Compilation
from rdu_model.floor.placement import Routes
from tests.rdu.placed_in_order import placed_in_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox


OWN = """
name: own
extents: {m: 64, n: 64}
tensors:
  x: {dims: [m, n], dtype: bf16, role: input}
  y: {dims: [m, n], dtype: bf16, role: output}
nodes:
  NAME: {kind: map, fn: exp, reads: [x]}
  y: {kind: map, fn: exp, reads: [NAME]}
"""


def placed(graph: str, machine: str, **changes: int) -> Compilation:
    """A graph of the library on a machine, placed in order."""
    made = compile_graph(workload(graph, **changes), load_machine(machine), Choices("fused"))  # type: ignore[arg-type]
    return replace(made, sections=tuple(replace(one, section=placed_in_order(one.section)) for one in made.sections))


@pytest.fixture(scope="module")
def softmax() -> Floorplan:
    return floorplan_of(section_named(placed("softmax", "sn40l"), ""), "softmax", "fused")


@pytest.fixture(scope="module")
def llama() -> Compilation:
    return placed("llama-3.2-1b", "sn40l", context=256)


def test_the_data_is_the_placement(softmax: Floorplan) -> None:
    with in_style():
        text = records_csv(draw(softmax).rows)
    rows = list(csv.DictReader(io.StringIO(text)))
    placement, fabric = softmax.placed.placement, softmax.fabric
    for what, cells_of in (("pcu", placement.pcus), ("pmu", placement.pmus)):
        found: dict[str, set[int]] = {}
        for row in rows:
            if row["what"] == what and row["item"]:
                found.setdefault(row["item"], set()).add(fabric.cell(int(row["row"]), int(row["column"])))
        assert found == {name: set(cells) for name, cells in cells_of.items()}
    assert Counter(row["what"] for row in rows) == {
        "pcu": len(fabric.pcus),
        "pmu": len(fabric.pmus),
        "agcu": len(fabric.agcus),
        "link": len(softmax.routes.load),
    }
    streams = {row["item"]: int(row["agcu"]) for row in rows if row["what"] == "agcu" and row["item"]}
    assert streams == {name: numbers[0] for name, numbers in placement.agcus.items()}


def test_the_data_of_links_is_their_load(softmax: Floorplan) -> None:
    found = {}
    for row in records(softmax):
        if row["what"] == "link":
            ends = [(int(str(row[f"{to}row"])), int(str(row[f"{to}column"]))) for to in ("", "to_")]
            found[tuple(softmax.fabric.cell(*end) for end in ends)] = row["bytes_per_cycle"]
    assert found == dict(softmax.routes.load)


def test_pmus_have_the_colour_of_the_stage_that_they_serve(softmax: Floorplan) -> None:
    """A stage's own buffer, and what streams bring to it; stored results count for who made them."""
    of = {unit.item: unit.stage for unit in softmax.units if unit.kind == "pmu" and unit.item}
    assert of == {"load x": "e", "e": "e", "s": "s", "y": "y"}
    sizes = {name: (pcus, pmus) for name, pcus, pmus in softmax.by_size}
    assert sum(pcus for pcus, _ in sizes.values()) == softmax.section.pcus
    assert sum(pmus for _, pmus in sizes.values()) == softmax.section.pmus


def test_it_is_drawn_in_two_sizes_and_the_same_bytes_every_time(
    softmax: Floorplan, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The other formats are left out here: the command draws them below.
    monkeypatch.setattr("experiments.picture.saved", lambda figure, kind: saved(figure, kind) if kind == "svg" else b"")
    first, second = drawn_floorplan(softmax), drawn_floorplan(softmax)
    pictures = [f"floorplan{size}.{suffix}" for size in ("", "_one_column") for suffix in ("png", "svg", "pdf")]
    assert list(first) == [*pictures, "floorplan.csv"]
    assert [name for name in first if first[name] != second[name]] == []
    for stage, pcus, pmus in softmax.by_size:
        assert f">{stage}: {pcus} + {pmus}<".encode() in first["floorplan.svg"]
        assert f">{stage}<".encode() in first["floorplan_one_column.svg"]


def figures(floorplan: Floorplan) -> list[Figure]:
    """Both sizes, laid out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with in_style():
        picture = draw(floorplan)
        assert picture.narrow is not None
        for figure in (picture.figure, picture.narrow):
            FigureCanvasAgg(figure).draw()
    return [picture.figure, picture.narrow]


def test_long_names_are_shortened_and_leave_the_panels_their_size() -> None:
    """A longer name changes nothing but the text."""
    long = "a_stage_whose_name_is_longer_than_any_label"
    sizes = []
    for name in ("d", long):
        text = OWN.replace("NAME", name)
        made = compile_graph(parse_graph(text), load_machine("unit"), Choices("fused"))
        compiled = replace(made.sections[0], section=placed_in_order(made.sections[0].section))
        for figure in figures(floorplan_of(compiled, name, "fused")):
            sizes.append(figure.axes[0].get_window_extent().width)
            texts = [text.get_window_extent() for text in figure.findobj(Text) if text.get_text()]
            assert max(box.x1 for box in texts) <= figure.bbox.width
    assert sizes[:2] == pytest.approx(sizes[2:], rel=0.02)


@pytest.mark.parametrize("section", ["decoder", "embedding"])
def test_nothing_reaches_over_the_edge_and_no_label_covers_another(llama: Compilation, section: str) -> None:
    for figure, width in zip(
        figures(floorplan_of(section_named(llama, section), "llama", "fused")), (7.0, 3.33), strict=True
    ):
        assert figure.get_size_inches()[0] == pytest.approx(width)
        boxes: list[Bbox] = []
        for axes in figure.axes:
            inside = axes.get_legend()
            boxes += [inside.get_window_extent()] if inside else []
            boxes += [text.get_window_extent() for text in axes.texts if text.get_text()]
        for box in boxes:
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.width
            assert box.y0 >= 0
        labels = [text.get_window_extent() for text in figure.axes[0].texts if "tile" not in text.get_text()]
        assert not [1 for n, one in enumerate(labels) for other in labels[:n] if one.overlaps(other)]


def test_the_section_is_the_one_with_most_time_or_the_one_asked_for(llama: Compilation) -> None:
    assert section_named(llama, "").section.name == "decoder"
    assert section_named(llama, "head").section.name == "head"
    with pytest.raises(UnknownName, match=r"unknown section 'hed' \(did you mean 'head'\?\)"):
        section_named(llama, "hed")


def test_a_mesh_without_load_is_drawn(softmax: Floorplan) -> None:
    still = replace(softmax, placed=replace(softmax.placed, routes=Routes((), {}, {}, 128)))
    with in_style():
        assert saved(draw(still).figure, "png")


@pytest.mark.parametrize("machine", ["unit", "plasticine", "sn10"])
def test_every_grid_can_be_drawn(machine: str) -> None:
    floorplan = floorplan_of(section_named(placed("rms_norm", machine), ""), "rms_norm", "fused")
    with in_style():
        assert f"on {machine}".encode() in saved(draw(floorplan).figure, "svg")


def test_the_command_places_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--set", "rows=64", "--set", "columns=64", "--rdu", "unit", "--kind", "floorplan", "-o", "drawn"]
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["plot", "softmax", *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert [Path(line).is_file() for line in result.stdout.split()] == [True] * 7

"""show --format: a graph drawn in layers, a repeated block once, the nodes of a call in a frame."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from experiments.cli import cli
from experiments.diagram import BY_TRAIT, Box, Diagram, Frame, diagram_of
from experiments.drawings import dot, mermaid
from experiments.outline import outline_of
from gpu_model import load_machine, lower
from patterns.library import workload
from patterns.read import parse_graph

HOSTILE = "</b>\"\\>&\n]--><script>alert('x')</script>"
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments: str) -> Result:
    """A command's result."""
    return CliRunner().invoke(cli, ["show", *arguments])


@pytest.mark.parametrize("form", ["dot", "mermaid"])
def test_a_drawing_is_as_it_was_looked_at(form: str, golden: Callable[[str, str], None]) -> None:
    golden(f"cli/softmax.{form}", run("softmax", "--gpu", "h100_sxm", "--policy", "library", "--format", form).stdout)


def test_a_repeated_block_is_drawn_once_and_every_read_is_an_arrow() -> None:
    graph = workload("llama-3.1-8b")
    diagram = diagram_of(graph)
    frames = [item for item in diagram.items if isinstance(item, Frame)]
    assert [(frame.title, frame.repeated) for frame in frames] == [
        ("embedding", False),
        ("decoder x 32", True),
        ("head", False),
    ]
    drawn = {(arrow.start, arrow.end) for arrow in diagram.arrows if not arrow.again}
    made = {node.writes: node.name for _, node in graph.nodes()}
    for _, node in graph.nodes():
        for name in node.reads:
            if name in made:
                assert (f"node {made[name]}", f"node {node.name}") in drawn
            elif graph.tensor_named[name].role != "weight":
                assert (f"tensor {name}", f"node {node.name}") in drawn
    again = {(arrow.start, arrow.end) for arrow in diagram.arrows if arrow.again}
    assert again == {("node middle", "node stream"), ("node down", "node stream")}
    assert len(diagram.boxes) == len({box.key for box in diagram.boxes})
    text = dot.drawn(diagram)
    assert all(f"weight {tensor.name}" in text for tensor in graph.tensors if tensor.role == "weight")


def test_a_frame_holds_what_one_call_holds() -> None:
    graph = workload("llama-3.1-8b")
    plan = lower(graph, load_machine("h100_sxm", {}), policy="library")
    decoder = next(item for item in diagram_of(graph, plan).items if isinstance(item, Frame) and item.repeated)
    framed = {frame.title: {box.lines[0] for box in frame.items if isinstance(box, Box)} for frame in frames(decoder)}
    due = {call.name: set(call.nodes) for call in plan.calls if call.block == "decoder" and len(call.nodes) > 1}
    assert framed == due
    assert len(due) >= 4


def test_a_call_over_all_blocks_has_a_frame_around_them() -> None:
    graph = workload("speculative_decoding", overrides={"draft_layers": 2, "verify_layers": 2, "drafted": 1})
    plan = lower(graph, load_machine("h100_sxm", {}), policy="megakernel")
    (whole,) = [item for item in diagram_of(graph, plan).items if isinstance(item, Frame)]
    assert whole.call
    assert [frame.title for frame in frames(whole)][1] == "draft_1_decoder x 2"


def frames(frame: Frame) -> list[Frame]:
    """The frames in a frame."""
    return [item for item in frame.items if isinstance(item, Frame)]


def test_a_picture_shows_every_box(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz")
    file = tmp_path / "softmax.svg"
    result = run("softmax", "--format", "svg", "-o", str(file))
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    root = ElementTree.parse(file).getroot()
    assert root.tag == f"{SVG}svg"
    texts = {text.text for text in root.iter(f"{SVG}text")}
    assert {"softmax", "e", "s", "y", "x", "reduce sum over columns", "element by element"} <= texts
    assert file.read_text(encoding="utf-8") == run("softmax", "--format", "svg").stdout


def test_without_the_extra_a_picture_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    result = run("softmax", "--format", "svg")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "pip install 'patternloom[graph]'; --format dot and --format mermaid are text" in result.stderr
    assert run("softmax", "--format", "dot").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "dot", "--gpu", "unit", "--cycles", "3"], "--cycles: a drawing is of the whole graph"),
        (["--format", "dot", "--gpu", "unit", "softmax.e"], "a drawing is of the whole graph"),
        (["-o", "x.svg"], "-o: of a drawing; name a --format"),
        (["--outline"], "--outline: of a drawing; name a --format"),
        (["--outline", "--gpu", "unit", "--format", "dot"], "--outline is of a graph, whose calls it does not show"),
        (["--format", "png"], "'png' is not one of 'text', 'dot', 'mermaid', 'svg'"),
    ],
)
def test_what_no_drawing_can_be_asked(arguments: list[str], message: str) -> None:
    result = run("softmax", *arguments)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_no_name_breaks_out_of_its_place() -> None:
    box = Box("k", (HOSTILE, HOSTILE), BY_TRAIT["moves"])
    diagram = Diagram(HOSTILE, (HOSTILE,), (Frame(HOSTILE, (box,)),), ())
    for text in (dot.drawn(diagram), mermaid.drawn(diagram)):
        assert "<script" not in text.replace(dot.quoted(HOSTILE), "")
    labels = re.findall(r'\["(.*?)"\]', mermaid.drawn(diagram))
    assert labels
    assert not [label for label in labels if re.search(r'["&]|<(?!br/>)', label)]
    pygraphviz = pytest.importorskip("pygraphviz")
    assert pygraphviz.AGraph(string=dot.drawn(diagram)).nodes() == ["b0", "legend"]


def test_words_of_the_formats_are_names_like_others() -> None:
    graph = parse_graph(
        "name: a.b-c\nextents: {end: 4, graph: 3}\ntensors:\n"
        "  subgraph: {dims: [end, graph], dtype: bf16, role: input}\nnodes:\n"
        "  end: {kind: map, fn: exp, reads: [subgraph]}\n  node: {kind: zip, fn: add, reads: [end, end]}\n"
    )
    text = mermaid.drawn(diagram_of(graph))
    assert text.count("\n  end\n") == 1
    assert 'b1["end<br/>map exp<br/>bf16 [end graph]"]' in text


def test_an_outline_has_a_box_for_each_block() -> None:
    diagram = outline_of(workload("speculative_decoding"))
    blocks = [box.lines[0] for box in diagram.boxes if box.key.startswith("block ")]
    assert len(blocks) == 17
    assert blocks[1] == "draft_1_decoder x 16"
    drawn = {(arrow.start, arrow.end, arrow.label) for arrow in diagram.arrows}
    assert ("block draft_1_head", "block draft_2_embedding", "draft_1_next_token") in drawn
    assert ("block join", "block verify_embedding", "candidates") in drawn
    again = [arrow.start for arrow in diagram.arrows if arrow.again]
    assert again == [f"block {name}_decoder" for name in ("draft_1", "draft_2", "draft_3", "draft_4", "verify")]
    assert run("speculative_decoding", "--format", "mermaid", "--outline").stdout == mermaid.drawn(diagram)

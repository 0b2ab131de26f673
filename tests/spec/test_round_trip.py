"""Random graphs: writing and reading again gives the same graph, and any edit of a file gives a graph or a message."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import SpecError, UserError
from patterns.plugin import data_files
from patterns.read import parse_graph, read_graph
from patterns.write import write_graph

LIBRARY = data_files("patterns.library", ".yaml")
DIMS = ("rows", "no", "y", "null_", "on")
NAMES = ["off", "yes", "n", "true_", "null", "true", "inf", "e5", "_", "x1e5", "Y", "NO", "nan"]
Data = dict[str, Any]


@st.composite
def specs(draw: st.DrawFn) -> Data:
    """A graph file as data: declared tensors, then one to three blocks of random nodes on what is there."""
    first = draw(st.integers(0, len(NAMES) - 1))
    names = iter([*NAMES[first:], *NAMES[:first], *(f"t{i}" for i in range(40))])
    dtypes = st.sampled_from(["bf16", "fp32", "fp8"])
    some_dims = st.lists(st.sampled_from(DIMS), unique=True, min_size=1, max_size=3)
    shapes: dict[str, tuple[list[str], str]] = {}
    tensors = {}
    for role in draw(st.lists(st.sampled_from(["input", "weight", "state"]), min_size=1, max_size=4)):
        name, dims, dtype = next(names), draw(some_dims), draw(dtypes)
        tensors[name] = {"dims": dims, "dtype": dtype, "role": role}
        shapes[name] = (dims, dtype)
    spec: Data = {"name": draw(st.sampled_from(["on", "a.b", "llama-3.1"])), "tensors": tensors}
    spec["extents"] = {dim: draw(st.integers(1, 9)) for dim in DIMS}
    if draw(st.booleans()):
        spec["nodes"] = dict(draw(node(next(names), shapes)) for _ in range(draw(st.integers(1, 6))))
        return spec
    spec["blocks"] = {}
    for _ in range(draw(st.integers(1, 3))):
        before = dict(shapes)
        nodes = dict(draw(node(next(names), shapes)) for _ in range(draw(st.integers(1, 4))))
        block: Data = {"nodes": nodes}
        if draw(st.booleans()):
            block["count"] = draw(st.one_of(st.integers(1, 4), st.just("rows * 2")))
            inside = draw(st.sampled_from(sorted(before)))
            results = [name for name in nodes if shapes[name] == before[inside]]
            block["carried"] = {inside: results[0]} if results else {}
            for name in nodes:
                if name not in results[:1]:
                    del shapes[name]
        spec["blocks"][next(names)] = block
    return spec


@st.composite
def node(draw: st.DrawFn, name: str, shapes: dict[str, tuple[list[str], str]]) -> tuple[str, Data]:
    """One node that fits the tensors there are, and its result among them."""
    read = draw(st.sampled_from(sorted(shapes)))
    dims, dtype = shapes[read]
    kind = draw(st.sampled_from(["map", "scale", "cast", "zip", "reduce", "mm", "permute"]))
    shapes[name] = (dims, dtype)
    if kind == "scale":
        return name, {"kind": "map", "fn": "scale", "reads": [read], "by": draw(st.floats(1e-9, 1e9))}
    if kind == "cast":
        shapes[name] = (dims, "fp16")
        return name, {"kind": "map", "fn": "cast", "reads": [read], "dtype": "fp16"}
    if kind == "zip":
        return name, {"kind": "zip", "fn": "add", "reads": [read, read]}
    if kind == "reduce" and dims:
        over = draw(st.lists(st.sampled_from(dims), unique=True, min_size=1))
        shapes[name] = ([dim for dim in dims if dim not in over], dtype)
        return name, {"kind": "reduce", "fn": "sum", "reads": [read], "over": over}
    if kind == "mm" and dims:
        over = draw(st.sampled_from(dims))
        shapes[name] = ([dim for dim in dims if dim != over], dtype)
        return name, {"kind": "mm", "reads": [read, read], "over": [over]}
    if kind == "permute" and dims:
        order = draw(st.permutations(dims))
        shapes[name] = (order, dtype)
        return name, {"kind": "buffer", "fn": "permute", "reads": [read], "order": " ".join(order)}
    return name, {"kind": "map", "fn": "exp", "reads": [read]}


@settings(max_examples=80, deadline=None)
@given(specs())
def test_a_written_graph_reads_as_itself(spec: Data) -> None:
    graph = parse_graph(json.dumps(spec))
    text = write_graph(graph)
    assert parse_graph(text) == graph
    # A reader of YAML 1.1 sees the same words: no name has become a boolean, no number text.
    assert yaml.safe_load(text) == _as_1_2(text)


def _as_1_2(text: str) -> object:
    from patterns.load import load_text

    return load_text(text, "written.yaml").data


@pytest.mark.parametrize("name", LIBRARY)
def test_library_graphs_read_as_themselves(name: str) -> None:
    graph = read_graph(files("patterns.library").joinpath(f"{name}.yaml"))
    assert parse_graph(write_graph(graph)) == graph


def test_declared_intermediates_are_written_where_the_kind_would_infer_otherwise() -> None:
    text = """
name: precise
extents: {rows: 8, columns: 4}
tensors:
  x: {dims: [rows, columns], dtype: bf16, role: input}
  s: {dims: [rows], dtype: fp32, role: intermediate}
  y: {dims: [rows, columns], dtype: bf16, role: intermediate}
nodes:
  s: {kind: reduce, fn: sum, reads: [x], over: [columns]}
  y: {kind: map, fn: exp, reads: [x], writes: y}
"""
    graph = parse_graph(text)
    written = write_graph(graph)
    assert graph.tensor_named["s"].dtype == "fp32"
    assert "s: {dims: [rows], dtype: fp32, role: intermediate}" in written
    assert '"y": {dims' not in written
    assert parse_graph(written) == graph


def test_an_intermediate_declared_outside_its_block_stays_there() -> None:
    text = """
name: outside
extents: {rows: 8}
tensors:
  x: {dims: [rows], dtype: bf16, role: input}
  e: {dims: [rows], dtype: bf16, role: intermediate}
blocks:
  only:
    nodes:
      e: {kind: map, fn: exp, reads: [x]}
      f: {kind: map, fn: exp, reads: [e]}
"""
    graph = parse_graph(text)
    assert (graph.tensor_named["e"].block, graph.tensor_named["f"].block) == ("", "only")
    assert parse_graph(write_graph(graph)) == graph


@pytest.mark.parametrize("layers", ["1", "2"])
def test_a_repeated_block_reads_as_itself_even_once(layers: str) -> None:
    graph = read_graph(files("patterns.library").joinpath("llama.yaml"), {"layers": layers, "tensor_parallel": "2"})
    assert parse_graph(write_graph(graph)) == graph


SOFTMAX = write_graph(read_graph(files("patterns.library").joinpath("softmax.yaml")))
PIECES = [
    "{",
    "}",
    "[",
    "]",
    ": ",
    "- ",
    ",",
    "&a ",
    "*a",
    "<<: *a",
    "!!int ",
    "~",
    "\n",
    "  ",
    "\t",
    '"',
    "'",
    "0",
    "1e5",
]
PIECES += [
    "rows",
    "kind",
    "exp",
    "|",
    ">",
    "#",
    "?",
    "---\n",
    "writes: ",
    "over: ",
    "no",
    ".nan",
    "-1",
    "\x00",
    "ü",
    "%",
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(SOFTMAX)), st.integers(0, 6), st.sampled_from(PIECES)), min_size=1, max_size=4
    )
)
def test_any_edit_of_a_file_gives_a_graph_or_a_message(edits: list[tuple[int, int, str]]) -> None:
    text = SOFTMAX
    for at, cut, piece in edits:
        text = text[:at] + piece + text[at + cut :]
    try:
        parse_graph(text)
    except UserError as error:
        assert type(error) is SpecError  # noqa: PT017


@settings(max_examples=100, deadline=None)
@given(specs(), st.data())
def test_any_change_of_a_value_gives_a_graph_or_a_message(spec: Data, data: st.DataObject) -> None:
    places = list(_places(spec))
    container, key = data.draw(st.sampled_from(places))
    strange = [
        0,
        -1,
        1e5,
        True,
        None,
        "no",
        "1/0",
        [],
        {},
        [[]],
        "rows",
        "t0",
        "x" * 200,
        ["rows", "rows"],
        {"<<": 1},
        10**30,
    ]
    container[key] = data.draw(st.sampled_from(strange))
    try:
        parse_graph(json.dumps(spec))
    except UserError as error:
        assert type(error) is SpecError  # noqa: PT017


def _places(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in list(pairs):
        yield value, key
        yield from _places(below)

"""A document that is read again for other extents gives the graph that it gives when it is read for the first time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

import pytest

from patterns.errors import SpecError, UnknownName
from patterns.graph import Graph
from patterns.graph_file.draft import library_draft
from patterns.graph_file.reread import Rereading
from patterns.importers.huggingface import config_draft
from patterns.library import config_names
from patterns.load import load_text, read_text
from patterns.plugin import data_file
from patterns.read import graph_of

# A sum over members, a state of the last places, a lookup that needs as many rows, and a count that is an expression.
TEXT = """
name: lookups
extents: {batch: 4, rows: 64, width: 8, kept: 8, members: 1, layers: 2}
requires: [batch * 8 <= rows]
tensors:
  table: {dims: [rows, width], dtype: bf16, role: input}
  index: {dims: [batch], dtype: int32, role: input}
  y: {dims: [batch, width], dtype: bf16, role: output}
blocks:
  first:
    nodes:
      found: {kind: gather, reads: [table, index], along: rows, distinct: "batch // 2"}
  layers:
    count: layers
    carried: {found: both}
    nodes:
      part: {kind: map, fn: relu, reads: [found]}
      summed: {kind: all_reduce, reads: [part], along: members}
      both: {kind: zip, fn: add, reads: [summed, found]}
  last:
    nodes:
      y: {kind: map, fn: relu, reads: [both]}
"""


def same(found: Graph, due: Graph) -> None:
    """Equal in every field, those included that comparing two graphs leaves out."""
    for field in fields(Graph):
        assert getattr(found, field.name) == getattr(due, field.name), field.name


def outcome(read: Callable[[Mapping[str, str]], Graph], extents: Mapping[str, str]) -> Graph | SpecError:
    """The graph, or what is wrong."""
    try:
        return read(extents)
    except SpecError as error:
        return error


@pytest.mark.parametrize("name", [*config_names()][::4])
def test_an_imported_model_of_other_extents(name: str) -> None:
    file = data_file("patterns.library.configs", name, ".json", "config")
    draft = config_draft(read_text(file), name, name)
    document, known = draft.document, graph_of(draft.document).sizes
    read = Rereading(document)
    for batch, context, seq in ((1, 64, "1"), (1, 640, "1"), (3, 640, "1"), (1, 65, "context"), (3, 4096, "1")):
        wanted = {"batch": str(batch), "context": str(context), "seq": seq}
        asked = {extent: value for extent, value in wanted.items() if extent in known}
        same(read.graph(asked), graph_of(document, asked))


@pytest.mark.parametrize(
    "name", ["gqa_decode", "conv_bias_pool", "embedding", "paged_attention", "filter_sum", "fft_convolution"]
)
def test_a_graph_whose_extents_change_one_by_one(name: str) -> None:
    document = library_draft(name).document
    read = Rereading(document)
    for extent, size in graph_of(document).extents:
        for other in (size, 2 * size, size + 1, max(1, size // 2)):
            asked = {extent: str(other)}
            found, due = outcome(read.graph, asked), outcome(lambda extents: graph_of(document, extents), asked)
            assert str(found) == str(due)
            if isinstance(found, Graph) and isinstance(due, Graph):
                same(found, due)


def test_what_follows_from_sizes_is_made_anew() -> None:
    document = load_text(TEXT, "lookups.yaml")
    read = Rereading(document)
    for asked in ({}, {"width": "16"}, {"batch": "8"}, {"layers": "3"}, {"members": "2"}, {"rows": "batch * 16"}, {}):
        same(read.graph(asked), graph_of(document, asked))
    assert read.graph({"layers": "3"}).block_named["layers"].count == 3
    assert len(read.graph({"members": "2"}).blocks[1].nodes) == 3
    assert len(read.graph({"members": "1"}).blocks[1].nodes) == 2


def test_nodes_are_shared_where_only_extents_differ() -> None:
    read = Rereading(load_text(TEXT, "lookups.yaml"))
    first, wider = read.graph({"width": "16"}), read.graph({"width": "32"})
    assert wider.blocks is first.blocks
    assert dict(wider.extents)["width"] == 32


def test_mistakes_are_told_as_at_the_first_time() -> None:
    read = Rereading(load_text(TEXT, "lookups.yaml"))
    read.graph({})
    with pytest.raises(SpecError, match="batch \\* 8 <= rows"):
        read.graph({"batch": "9"})
    with pytest.raises(UnknownName):
        read.graph({"heads": "9"})
    with pytest.raises(SpecError):
        read.graph({"width": "rows +"})

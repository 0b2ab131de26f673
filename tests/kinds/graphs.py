"""Small graphs, written as text or drawn by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from patterns.graph import Graph
from patterns.read import parse_graph

SIZES = "{m: 3, n: 4, k: 5, b: 2, h: 6, pair: 2, half: 3, rows: 7, picks: 4}"
# A wide choice of shapes to try kinds on.
TENSORS = """
  x: {dims: [m, k], dtype: bf16, role: input}
  y: {dims: [k, n], dtype: bf16, role: input}
  row: {dims: [k], dtype: fp32, role: input}
  batched: {dims: [b, m, k], dtype: bf16, role: input}
  weight: {dims: [b, k, n], dtype: fp8, role: weight}
  table: {dims: [rows, h], dtype: bf16, role: weight}
  index: {dims: [picks], dtype: int32, role: input}
  own_index: {dims: [m, picks], dtype: int32, role: input}
  own_table: {dims: [m, rows, h], dtype: bf16, role: input}
  cache: {dims: [m, rows, h], dtype: bf16, role: state}
  lines: {dims: [m, picks, h], dtype: bf16, role: input}
  pairs: {dims: [m, h], dtype: bf16, role: input}
"""


def graph(nodes: str, tensors: str = "", extents: str = SIZES) -> Graph:
    """A graph with the tensors above, and others, and nodes as text: one a line."""
    lines = "".join(f"  {line.strip()}\n" for line in nodes.strip().splitlines())
    more = "".join(f"  {line.strip()}\n" for line in tensors.strip().splitlines())
    return parse_graph(f"name: test\nextents: {extents}\ntensors:{TENSORS}{more}nodes:\n{lines}", "test.yaml")


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    """Graphs of up to eight nodes: maps, zips, reduces, mms, gathers and buffers, that read what was made before."""
    tensors = "  a: {dims: [i, j], dtype: bf16, role: input}\n  w: {dims: [j, l], dtype: bf16, role: weight}\n"
    tensors += "  t: {dims: [v, j], dtype: bf16, role: weight}\n  at: {dims: [i], dtype: int32, role: input}\n"
    wide, lines = ["a"], []
    for number in range(draw(st.integers(1, 8))):
        name, source, other = f"t{number}", draw(st.sampled_from(wide)), draw(st.sampled_from(wide))
        form = draw(st.sampled_from(sorted(_FORMS)))
        lines.append(f"  {name}: {_FORMS[form].format(source=source, other=other)}\n")
        if form in _WIDE:
            wide.append(name)
    extents = ", ".join(f"{dim}: {draw(st.integers(1, 7))}" for dim in "ijlv")
    return parse_graph(
        f"name: chain\nextents: {{{extents}}}\ntensors:\n{tensors}nodes:\n{''.join(lines)}", "chain.yaml"
    )


# Nodes by form; those in _WIDE make another [i, j].
_FORMS = {
    "map": "{{kind: map, fn: tanh, reads: [{source}]}}",
    "zip": "{{kind: zip, fn: add, reads: [{source}, {other}]}}",
    "roll": "{{kind: buffer, fn: roll, reads: [{source}], along: j, by: 1}}",
    "gather": "{{kind: gather, reads: [t, at], along: v}}",
    "reduce": "{{kind: reduce, fn: max, reads: [{source}], over: [j]}}",
    "mm": "{{kind: mm, reads: [{source}, w], over: [j]}}",
}
_WIDE = {"map", "zip", "roll", "gather"}

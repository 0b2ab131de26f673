"""Rotary positions of a part of every head: the rest of its dims pass as they are."""

from __future__ import annotations

from patterns.graph_file.draft import Draft

PARTIAL = """
${x}_turned: {kind: buffer, fn: slice,  reads: [${x}], along: head_dim, start: 0, to: rotary}
${x}_passed: {kind: buffer, fn: slice,  reads: [${x}], along: head_dim, start: rotary, to: unturned}
${x}_rolled: {kind: buffer, fn: roll,   reads: [${x}_turned], along: rotary, by: rotary / 2}
${x}_cos:    {kind: zip,    fn: mul,    reads: [${x}_turned, cos]}
${x}_sin:    {kind: zip,    fn: mul,    reads: [${x}_rolled, sin]}
${x}_sum:    {kind: zip,    fn: add,    reads: [${x}_cos, ${x}_sin]}
${x}_rotary: {kind: buffer, fn: concat, reads: [${x}_sum, ${x}_passed], to: head_dim}
"""


def with_partial_rotary(draft: Draft, dims: int) -> Draft:
    """Rotary positions of the first `dims` dims of every head."""
    made = draft.extents(rotary=dims, unturned="head_dim - rotary")
    for table in ("cos", "sin"):
        made = made.tensor(table, dims=["batch", "seq", "rotary"])
    for x in ("q", "k"):
        made = made.instead((f"{x}_rolled", f"{x}_cos", f"{x}_sin", f"{x}_rotary"), PARTIAL, x=x)
    return made

"""Soft caps: cap x tanh(x / cap) instead of x, which stays below the cap."""

from __future__ import annotations

from patterns.graph_file.draft import Draft

CAP = """
${x}_small:  {kind: map, fn: scale, reads: [${x}], by: ${inverse}}
${x}_bent:   {kind: map, fn: tanh,  reads: [${x}_small]}
${x}_capped: {kind: map, fn: scale, reads: [${x}_bent], by: ${cap}}
"""


def with_cap(draft: Draft, node: str, cap: float | None) -> Draft:
    """What a node gives, capped; as it is where there is no cap."""
    return draft.after(node, CAP, x=node, cap=repr(float(cap)), inverse=repr(1 / cap)) if cap else draft

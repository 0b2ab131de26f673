"""Operator by operator, as a framework runs a model: chains of elementwise nodes are one kernel, every reduce, matrix
product, gather and scatter is its own, and a buffer is read as strides by the kernel that needs it.
"""

from __future__ import annotations

from gpu_model.legal import Group, Grouping
from patterns.kind import has

RANK = 1


def fuse(grouping: Grouping) -> None:
    """Join chains, then let buffers go into their readers."""
    join_chains(grouping)
    read_as_strides(grouping)


def join_chains(grouping: Grouping) -> None:
    """Elementwise nodes that hand a tensor on become one kernel, along every edge where that is legal."""
    for node in grouping.block.nodes:
        if not has(node, "elementwise"):
            continue
        for name in node.reads:
            before = grouping.maker(name)
            if before is not None and elementwise(before) and before is not grouping.of[node.name]:
                grouping.join((before, grouping.of[node.name]), "a chain of elementwise nodes")


def read_as_strides(grouping: Grouping) -> None:
    """A buffer joins the only kernel that reads it; with several readers it is written once, by its own kernel."""
    for node in reversed(grouping.block.nodes):
        readers = grouping.readers(node.writes)
        if has(node, "moves") and len(readers) == 1:
            grouping.join((grouping.of[node.name], readers[0]), readers[0].reason, online=readers[0].online)


def elementwise(group: Group) -> bool:
    """Whether a kernel does nothing but functions of elements (and reads them in any order)."""
    return all(has(node, "elementwise") or has(node, "moves") for node in group.nodes)

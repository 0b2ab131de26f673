"""Operator by operator, as a framework runs a model: chains of elementwise nodes are one kernel, every reduce, matrix
product, gather and scatter is its own, and a buffer is read as strides by the kernel that needs it.
"""

from __future__ import annotations

from gpu_model.joining.legal import Group, Grouping
from gpu_model.products.lookups import lookups
from patterns.kind import has

RANK = 1
BY_STRUCTURE = True


def fuse(grouping: Grouping) -> Grouping:
    """Join chains, then let buffers go into their readers."""
    return read_as_strides(join_chains(grouping))


def join_chains(grouping: Grouping) -> Grouping:
    """Elementwise nodes that hand a tensor on become one kernel, along every edge where that is legal."""
    for node in grouping.nodes:
        for name in node.reads if has(node, "elementwise") else ():
            before = grouping.maker(name)
            if before is not None and elementwise(before) and elementwise(grouping.of[node.name]):
                grouping = grouping.join((before, grouping.of[node.name]), "a chain of elementwise nodes")
    return grouping


def read_as_strides(grouping: Grouping) -> Grouping:
    """A buffer joins the only kernel that reads it; with several readers it is written once, by its own kernel.

    So is one that puts several tensors together: no strides tell where its elements are.
    """
    for node in reversed(grouping.nodes):
        readers = grouping.readers(node.writes)
        if has(node, "moves") and len(node.reads) == 1 and len(readers) == 1:
            reader = readers[0]
            grouping = grouping.join((grouping.of[node.name], reader), reader.reason, online=reader.online)
    return grouping


def elementwise(group: Group) -> bool:
    """Whether a kernel does nothing but functions of elements (and reads them in any order)."""
    return all(has(node, "elementwise") or has(node, "moves") for node in group.nodes)


def is_products(group: Group) -> bool:
    """Whether a kernel does nothing but matrix products (and reads their operands in any order)."""
    only = lookups(group.nodes, group.inside)
    plain = all(has(node, "contracts") or has(node, "moves") or node in only for node in group.nodes)
    return plain and not only_moves(group)


def only_moves(group: Group) -> bool:
    """Whether a kernel only puts elements in another order."""
    return all(has(node, "moves") for node in group.nodes)

"""Narrow weights and caches are widened on their way to the matrix unit, in the kernel that multiplies them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_model.fusion.operator import elementwise, is_products
from gpu_model.joining.legal import Group, Grouping
from gpu_model.products.lookups import is_lookup

CONVERTED = "; operands are converted on their way"


def join_conversions(grouping: Grouping) -> Grouping:
    """Elementwise nodes that make an operand of weights or states alone join the one product that reads it.

    So narrow numbers with scales are loaded as they lie, and widened on their way to the matrix unit. Rows of them that
    are looked up are found in place.
    """
    grouping = _join_kept(grouping)
    for node in reversed(grouping.nodes):
        group = grouping.of[node.name]
        readers = grouping.readers(node.writes)
        looked_up = tuple(_lookups_before(grouping, group))
        if not (elementwise(group) and _kept_only(grouping, group, looked_up) and len(readers) == 1):
            continue
        to = readers[0]
        if any(is_lookup(own) and node.writes in own.reads for own in to.nodes):
            continue  # a table is not an operand: every tile would convert all its rows
        if to.online or is_products(to):
            reason = f"{to.reason.removesuffix(CONVERTED)}{CONVERTED}"
            grouping = grouping.join((*looked_up, group, to), reason, online=to.online)
    return grouping


def _join_kept(grouping: Grouping) -> Grouping:
    """Chains of elementwise nodes that begin with weights and states alone, each one kernel."""
    for node in grouping.nodes:
        makers = [maker for maker in map(grouping.maker, node.reads) if maker is not None]
        parts = (*makers, grouping.of[node.name])
        if makers and all(elementwise(part) for part in parts):
            together = grouping.together(parts, "a chain of elementwise nodes")
            if _kept_only(grouping, together, ()):
                grouping = grouping.settled(together, grouping.refusal(together))
    return grouping


def _lookups_before(grouping: Grouping, group: Group) -> Iterator[Group]:
    """Lookups in weights and states whose rows only this kernel reads."""
    tensors = grouping.graph.tensor_named
    for name in dict.fromkeys(name for node in group.nodes for name in node.reads):
        maker = grouping.maker(name)
        alone = maker is not None and all(map(is_lookup, maker.nodes)) and grouping.readers(name) == (group,)
        if maker and alone and all(tensors[node.reads[0]].role in ("weight", "state") for node in maker.nodes):
            yield maker


def _kept_only(grouping: Grouping, group: Group, looked_up: Iterable[Group]) -> bool:
    """Whether all that a kernel reads from outside are weights and states, and rows of them."""
    made = {node.writes for part in (group, *looked_up) for node in part.nodes}
    read = {name for node in group.nodes for name in node.reads} - made
    tensors = grouping.graph.tensor_named
    return all(tensors[name].role in ("weight", "state") or tensors[name].shares for name in read)

"""The kernels of tuned libraries, as rules on traits and structure; no operator of any model is named here.

In order: elementwise chains; a gather with the products that read its rows in place; softmax between two matrix
products with both (an attention kernel); a recurrence with what makes and reads its states, step by step (a selective
scan); a reduce with the elementwise nodes around it (a norm, a softmax); a product of blocks with a reduce that adds
them up; reduces of one tensor; weights and states that are converted on their way to a matrix product; matrix products
of the same input, side by side; elementwise nodes with the gather or scatter they feed or read; elementwise kernels
side by side that share an input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpu_model.fusion.operator import elementwise, is_products, join_chains, read_as_strides
from gpu_model.joining.legal import Group, Grouping
from gpu_model.machine import Machine
from gpu_model.products.block_scales import join_block_scales
from gpu_model.products.conversions import join_conversions
from gpu_model.products.lookups import is_lookup, lookups
from gpu_model.products.product import product_of
from patterns.axes import points
from patterns.graph import Graph, Node
from patterns.kind import has

RANK = 2
BY_STRUCTURE = True


def fuse(grouping: Grouping) -> Grouping:
    """Apply the rules, each to what those before it left."""
    for rule in RULES:
        grouping = rule(grouping)
    return grouping


def join_lookups(grouping: Grouping) -> Grouping:
    """A gather joins the kernel of the matrix products that are alone in reading its rows: they read them in place."""
    for node in grouping.nodes:
        readers = grouping.readers(node.writes) if is_lookup(node) else ()
        if len(readers) == 1 and any(has(own, "contracts") for own in readers[0].nodes):
            multiplied = grouping.together((grouping.of[node.name], readers[0]), "matrix products of rows in place")
            if node in lookups(multiplied.nodes, multiplied.inside):
                grouping = grouping.settled(multiplied, grouping.refusal(multiplied))
    return grouping


def join_attention(grouping: Grouping) -> Grouping:
    """mm, then a chain with reduces over dims of its result, then an mm that sums those dims: one online kernel.

    What the chain reads besides, as scales of quantised keys, comes from memory. A division by the sum may come last.
    """
    for node in grouping.nodes:
        if not has(node, "contracts"):
            continue
        for name in node.reads[:2]:
            before = list(_between_products(grouping, name))
            firsts = [group for group in _feeding(grouping, before) if _computes(group, node.over, grouping)]
            between = _after(firsts, before)
            ends = _dividing(grouping, node.writes, firsts)
            between += [group for end in ends for group in _sums_beside(grouping, end, firsts) if group not in between]
            reduced = {frozenset(n.over) for group in between for n in group.nodes if has(n, "reduces")}
            if len(firsts) == 1 and reduced == {frozenset(node.over)}:
                parts = (*firsts, *between, grouping.of[node.name], *ends)
                hides = [n.writes for part in (*firsts, *between) for n in part.nodes]
                grouping = grouping.join(
                    parts, "a softmax between two matrix products, online", online=node.over, hides=hides
                )
    return grouping


def _between_products(grouping: Grouping, name: str) -> Iterator[Group]:
    """Elementwise kernels and reduces from which a tensor comes, back to the first of other sorts."""
    seen: set[int] = set()
    todo = [name]
    while todo:
        group = grouping.maker(todo.pop())
        if group is not None and id(group) not in seen and all(_in_between(node) for node in group.nodes):
            seen.add(id(group))
            todo += [read for node in group.nodes for read in node.reads]
            yield group


def _in_between(node: Node) -> bool:
    return has(node, "elementwise") or has(node, "reduces") or has(node, "moves")


def _feeding(grouping: Grouping, groups: Sequence[Group]) -> list[Group]:
    """Kernels of other sorts in this block that these read."""
    inside = {id(group) for group in groups}
    reads = (name for group in groups for node in group.nodes for name in node.reads)
    makers = (grouping.maker(name) for name in reads)
    found = {id(maker): maker for maker in makers if maker is not None and id(maker) not in inside}
    return list(found.values())


def _after(firsts: Sequence[Group], groups: Sequence[Group]) -> list[Group]:
    """Of some kernels those that need what the first ones make; what others bring is read from memory."""
    made = {node.writes for group in firsts for node in group.nodes}
    left, found = list(groups), list[Group]()
    while ready := [group for group in left if any(made.intersection(node.reads) for node in group.nodes)]:
        found += ready
        left = [group for group in left if group not in ready]
        made |= {node.writes for group in ready for node in group.nodes}
    return found


def _dividing(grouping: Grouping, product: str, firsts: Sequence[Group]) -> list[Group]:
    """The elementwise kernels that read a product together with what comes from scores: they divide by their sum."""
    readers = (group for group in grouping.readers(product) if elementwise(group))
    return [group for group in readers if _sums_beside(grouping, group, firsts)]


def _sums_beside(grouping: Grouping, end: Group, firsts: Sequence[Group]) -> list[Group]:
    """The kernels between the first products and one that reads their results beside the last product's."""
    reads = [name for node in end.nodes for name in node.reads if grouping.maker(name) is not end]
    found = {id(group): group for name in reads for group in _between_products(grouping, name)}
    return _after(firsts, list(found.values()))


def _computes(group: Group, dims: Iterable[str], grouping: Grouping) -> bool:
    """Whether a kernel is an mm whose columns or rows are these dims."""
    products = [product_of(grouping.graph, node) for node in group.nodes if has(node, "contracts")]
    return len(products) == 1 and set(dims) in (set(products[0].columns), set(products[0].rows))


def join_rows(grouping: Grouping) -> Grouping:
    """A reduce joins the elementwise kernels that feed or read it, if all reduces of both are over the same dims.

    One between two matrix products stays as it is.
    """
    for node in grouping.nodes:
        if not has(node, "reduces") or not all(_in_between(own) for own in grouping.of[node.name].nodes):
            continue
        # The reduce may have a buffer with it, whose operand is what feeds both.
        makers = [grouping.maker(name) for own in grouping.of[node.name].nodes for name in own.reads]
        for other in (*makers, *grouping.readers(node.writes)):
            if other is not None and _same_rows(other, node):
                grouping = grouping.join(
                    (grouping.of[node.name], other), "a reduce with the elementwise nodes around it"
                )
    return grouping


def _same_rows(group: Group, node: Node) -> bool:
    alike = all(set(other.over) == set(node.over) for other in group.nodes if other.over)
    return alike and all(_in_between(other) for other in group.nodes)


def join_recurrences(grouping: Grouping) -> Grouping:
    """What carries a state along a dim takes the elementwise kernels, and the reduces of its states, around it.

    So what it goes through is made in registers, and of its states only what is read of them leaves.
    """
    for node in grouping.nodes:
        dims = set(grouping.graph.tensor_named[node.writes].dims) if has(node, "carries") else set()
        before = None
        while dims and grouping.of[node.name] is not before:
            before = grouping.of[node.name]
            makers = [grouping.maker(read) for own in before.nodes for read in own.reads]
            readers = [reader for own in before.nodes for reader in grouping.readers(own.writes)]
            for other in (*makers, *readers):
                if other is not None and other is not before and _goes_with_states(grouping, other, dims):
                    grouping = grouping.join(
                        (grouping.of[node.name], other), "a recurrence with what makes and reads its states"
                    )
    return grouping


def _goes_with_states(grouping: Grouping, group: Group, dims: set[str]) -> bool:
    """Whether a kernel is elementwise but for reduces of what has these dims, those of states, and makes no more."""
    graph = grouping.graph
    reduced = (node for node in group.nodes if has(node, "reduces"))
    alike = all(map(_in_between, group.nodes)) and grouping.answers(_makes_no_more, group.nodes, frozenset(dims))
    return alike and all(dims <= {*graph.tensor_named[node.reads[0]].dims} for node in reduced)


def _makes_no_more(graph: Graph, machine: Machine, nodes: tuple[Node, ...], dims: frozenset[str]) -> bool:
    """Whether no node makes more elements than there are points of the dims."""
    return max(graph.elements(node.writes) for node in nodes) <= points(dims, graph.sizes)


def join_reduces(grouping: Grouping) -> Grouping:
    """Kernels that do nothing but reduce the same tensor over the same dims become one: the greatest, and where."""
    for node in grouping.nodes:
        for other in grouping.readers(node.reads[0]) if has(node, "reduces") else ():
            ours = grouping.of[node.name]
            alike = all(n.reads == node.reads and n.over == node.over for n in (*ours.nodes, *other.nodes))
            if other is not ours and alike:
                grouping = grouping.join((ours, other), "reduces of one tensor over the same dims", apart=True)
    return grouping


def join_siblings(grouping: Grouping) -> Grouping:
    """Matrix products that read the same tensor and sum the same dims become one, in sets that are independent."""
    for first in grouping.nodes:
        if not is_products(grouping.of[first.name]):
            continue
        for name in first.reads:
            for other in grouping.readers(name):
                ours = grouping.of[first.name]
                if other is not ours and is_products(other) and _sums(other) == _sums(ours):
                    grouping = grouping.join(
                        (ours, other), "matrix products of the same input, side by side", apart=True
                    )
    return grouping


def _sums(group: Group) -> set[frozenset[str]]:
    return {frozenset(node.over) for node in group.nodes if has(node, "contracts")}


def join_indexed(grouping: Grouping) -> Grouping:
    """A gather or scatter joins the elementwise kernels that make its rows or read them."""
    for node in grouping.nodes:
        if not has(node, "indexes") or not _light(grouping.of[node.name]):
            continue
        rows = (grouping.maker(name) for name in node.reads)
        for other in (*rows, *grouping.readers(node.writes)):
            if other is not None and elementwise(other):
                grouping = grouping.join((grouping.of[node.name], other), "elementwise nodes with the rows they move")
    return grouping


def join_side_by_side(grouping: Grouping) -> Grouping:
    """Kernels of elementwise and indexed nodes that share an input and do not need each other become one."""
    for node in grouping.nodes:
        for name in node.reads:
            for other in grouping.readers(name):
                ours = grouping.of[node.name]
                if other is not ours and _light(ours) and _light(other):
                    grouping = grouping.join(
                        (ours, other), "elementwise and indexed nodes that share an input", apart=True
                    )
    return grouping


def _light(group: Group) -> bool:
    return all(has(node, "elementwise") or has(node, "indexes") or has(node, "moves") for node in group.nodes)


RULES = (
    join_chains,
    read_as_strides,
    join_lookups,
    join_attention,
    join_recurrences,
    join_rows,
    join_block_scales,
    join_reduces,
    join_conversions,
    join_siblings,
    join_indexed,
    join_side_by_side,
)

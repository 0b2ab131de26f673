"""What a machine asks of a node, asked once: its dims by part, its traits, where it runs. No kind is known by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from patterns.axes import points, union, without
from patterns.count import node_dims
from patterns.dtypes import bytes_of
from patterns.follow import Follow, chain_of, follows, leaders, with_steps
from patterns.graph import Graph, Node, Tensor
from patterns.kind import Demand, Kind, kind_of
from patterns.numbers.tiles import accumulated_dims, carried_dims, tiled_dims
from patterns.pipeline.program import UnitClass
from rdu_model.lookups import Lookup, lookups_among

Relation = Literal["free", "reduced", "absent", "blocked"]


@dataclass(frozen=True)
class Asked:
    """A node and what is known of it.

    unit_class: matrix (a systolic array), vector (SIMD), network, or memory (only moves bytes; has no PCUs).
    rows, columns: of a contraction, the dims of its result that only one operand has (columns are those of the operand
    that streams from memory, else of the second); grouped: those that both have; depth: those that are summed.
    copies: writes rows into a copy of what it reads first, which is no state.
    over: the state that it writes rows into, '' if none. states: its reads of states, by number, with their storage.
    tiled: dims along which the node can run tile by tile; accumulated: those of them that are gathered in the result;
    carried: along which a state goes from tile to tile.
    lookup: of a contraction, and of the lookup itself, the node that finds its operand in a table (see lookups.py).
    follows: dims of the section that follow others; steps along those cut a node, too.
    """

    node: Node
    graph: Graph
    kind: Kind
    unit_class: UnitClass
    out_dims: tuple[str, ...]
    read_dims: tuple[tuple[str, ...], ...]
    read_dtypes: tuple[str, ...]
    out_dtype: str
    moves: bool
    indexes: bool
    copies: bool
    tiled: frozenset[str]
    accumulated: frozenset[str]
    carried: frozenset[str]
    dims: tuple[str, ...]
    grouped: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    depth: tuple[str, ...] = ()
    column_read: int = 1
    over: str = ""
    states: tuple[tuple[int, str], ...] = ()
    lookup: Lookup | None = None
    follows: tuple[Follow, ...] = ()

    def demand(self, sizes: Mapping[str, int]) -> Demand:
        """Work of one execution with these extents."""
        return self.kind.demand(self.node, self.graph, self.extents(sizes))

    def extents(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        """The extents with those of dims that follow others as steps cut them: what no step before has needed."""
        return with_steps(self.follows, sizes) if self.follows else sizes

    def elements(self, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
        """Elements touched: of each read, in order, and of the result. What an earlier step has read is still there."""
        cut = self.extents(sizes)
        reads, out = self.kind.touched(self.node, self.graph, cut)
        along = self.node.along
        if self.moves and along and cut[along] != sizes[along]:
            return (points(self.read_dims[0], cut),), out
        return reads, out

    def touched(self, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
        """Bytes touched: of each read, in order, and of the result."""
        reads, out = self.elements(sizes)
        if self.lookup:
            rows = self.lookup.node.writes
            read = zip(reads, self.node.reads, strict=True)
            reads = tuple(self.lookup.once(n, sizes) if name == rows else n for n, name in read)
            out = self.lookup.once(out, sizes) if self.is_address else out
        return tuple(map(bytes_of, reads, self.read_dtypes)), bytes_of(out, self.out_dtype)

    @property
    def is_address(self) -> bool:
        """Whether the node only says where the operand of a contraction lies."""
        return self.lookup is not None and self.lookup.node is self.node

    def brought(self, number: int, sizes: Mapping[str, int], by_rows: bool) -> int:
        """Bytes that a stream brings for a read: what is touched, or a whole table if its rows are not looked up first.

        by_rows: whether the stream knows the index.
        """
        if number or by_rows or not self.indexes or self.copies:
            return self.touched(sizes)[0][number]
        table = {**sizes, self.node.along: self.graph.sizes[self.node.along]}
        return bytes_of(points(self.read_dims[0], table), self.read_dtypes[0])

    def takes_part(self, number: int) -> bool:
        """Whether the node takes a part of what it reads there: a slice, or rows that it looks up, however many."""
        if number == 0 and self.indexes:
            return not self.copies
        reads, _ = self.kind.touched(self.node, self.graph, self.graph.sizes)
        return reads[number] < self.graph.elements(self.node.reads[number])

    def cutting(self, number: int) -> frozenset[str]:
        """Dims along which steps need other elements of what the node reads there: of rows, those of their index."""
        if number or not self.indexes:
            return leaders(self.follows, frozenset(self.read_dims[number]))
        kept = frozenset(self.read_dims[0]) - {self.node.along}
        return kept.union(self.read_dims[1]) if self.takes_part(0) else kept


def ask(graph: Graph, node: Node, found: tuple[Follow, ...] = ()) -> Asked:
    """What a machine needs to know of a node of a graph. found: the dims that follow others in its section."""
    kind = kind_of(node)
    tensors = [graph.tensor_named[name] for name in node.reads]
    out = graph.tensor_named[node.writes]
    asked = Asked(
        node=node,
        graph=graph,
        kind=kind,
        unit_class=_unit_class(graph, node, kind),
        out_dims=out.dims,
        read_dims=tuple(tensor.dims for tensor in tensors),
        read_dtypes=tuple(tensor.dtype for tensor in tensors),
        out_dtype=out.dtype,
        moves="moves" in kind.TRAITS,
        indexes="indexes" in kind.TRAITS,
        copies="updates" in kind.TRAITS and not out.shares,
        tiled=leaders(found, tiled_dims(graph, node)),
        accumulated=accumulated_dims(graph, node),
        carried=carried_dims(node),
        dims=_with_leaders(found, node_dims(graph, node)),
        over=out.shares,
        states=tuple(_states(tensors)),
        follows=found,
    )
    return _contraction(asked) if "contracts" in kind.TRAITS else asked


def ask_all(graph: Graph, nodes: Iterable[Node]) -> dict[str, Asked]:
    """What a machine needs to know of nodes that are in one section, by name."""
    return dict(_ask_all(graph, tuple(nodes)))


# A graph's sections are asked of several times, and in several modes.
@lru_cache(maxsize=128)
def _ask_all(graph: Graph, together: tuple[Node, ...]) -> Mapping[str, Asked]:
    lookups, found = lookups_among(graph, together), follows(graph, together)
    return {node.name: _looking_up(ask(graph, node, found), lookups.get(node.name)) for node in together}


def _looking_up(asked: Asked, lookup: Lookup | None) -> Asked:
    """With what a contraction looks up taken row by row: its lookups are rows, and each found row has its own."""
    if lookup is None:
        return asked
    grouped, rows, columns = (without(dims, lookup.index) for dims in (asked.grouped, asked.rows, asked.columns))
    return replace(asked, lookup=lookup, grouped=grouped, rows=rows, columns=columns)


def _with_leaders(found: Sequence[Follow], dims: tuple[str, ...]) -> tuple[str, ...]:
    """The dims, and those that they follow, nearest first."""
    return union(dims, *(chain_of(found, dim) for dim in dims))


def _states(tensors: Sequence[Tensor]) -> Iterator[tuple[int, str]]:
    for number, tensor in enumerate(tensors):
        if tensor.shares or tensor.role == "state":
            yield number, tensor.shares or tensor.name


def _unit_class(graph: Graph, node: Node, kind: Kind) -> UnitClass:
    if "contracts" in kind.TRAITS:
        return "matrix"
    if "communicates" in kind.TRAITS:
        return "network"
    demand = kind.demand(node, graph, graph.sizes)
    return "vector" if demand.vector_ops or demand.special_ops else "memory"


def _contraction(asked: Asked) -> Asked:
    """With the dims of the result by operand; the operand from memory, or the second, has the columns."""
    off_chip = [asked.graph.tensor_named[name].role in ("weight", "state") for name in asked.node.reads]
    column_read = 0 if off_chip[0] and not off_chip[1] else 1
    row_dims, column_dims = asked.read_dims[1 - column_read], asked.read_dims[column_read]
    return replace(
        asked,
        grouped=tuple(dim for dim in asked.out_dims if dim in row_dims and dim in column_dims),
        rows=tuple(dim for dim in asked.out_dims if dim in row_dims and dim not in column_dims),
        columns=tuple(dim for dim in asked.out_dims if dim in column_dims and dim not in row_dims),
        depth=tuple(dim for dim in union(*asked.read_dims) if dim not in asked.out_dims),
        column_read=column_read,
    )


def relation(asked: Asked, dim: str) -> Relation:
    """How steps along a dim cut a node.

    free: each step makes a tile of the result. reduced: each step adds to the result. absent: the node does not know
    the dim. blocked: the node must have all of it.
    """
    if dim not in asked.dims:
        return "absent"
    if dim not in asked.tiled:
        return "blocked"
    return "reduced" if dim in asked.accumulated else "free"

"""What a tile reads from outside and what it writes: tensors, and the dims along which their tiles change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from patterns.addressed import Addresses
from patterns.axes import points
from patterns.count import storage_of
from patterns.counting.distinct import rounded
from patterns.dtypes import bytes_of
from patterns.graph import Graph, Node
from patterns.kind import has, kind_of
from patterns.once import computed_once

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Access:
    """Bytes of a tensor from outside that a tile reads or writes: `times` elements for each point of `dims`.

    times: several nodes may take different rows of it, or different slices. through: windows and pads by which it is
    read; touched: how many elements of the tensor these touch. unfolded: whether a tile has each window's own elements,
    as the operand of a product must, and not each element once. share: of several tensors put together, each is so much
    of the result, and a tile of that takes its share of each. once: of its points, how many are there once; rows that
    are found again, and places of lookups that there are not, come from nowhere. led: dims that its own follow.
    """

    tensor: str
    dims: tuple[str, ...]
    dtype: str
    times: int = 1
    through: Addresses | None = None
    touched: int = 0
    unfolded: bool = False
    share: Fraction = Fraction(1)
    once: Fraction = Fraction(1)
    led: frozenset[str] = frozenset()

    @computed_once
    def changes(self) -> frozenset[str]:
        """Dims of loops whose steps have other parts of the tensor."""
        return self.led.union(self.dims)

    @computed_once
    def _is_whole(self) -> bool:
        return self.share == 1

    @computed_once
    def _is_there_once(self) -> bool:
        return self.once == 1

    def num_bytes(self, sizes: Sizes) -> int:
        """Bytes with these extents."""
        return bytes_of(self.elements(sizes), self.dtype)

    def elements(self, sizes: Sizes) -> int:
        """Elements with these extents."""
        if self.through is not None and not self.unfolded:
            return self.through.points(sizes)
        of_all = points(self.dims, sizes) * self.times
        return of_all if self._is_whole else ceil(of_all * self.share)

    def different_bytes(self, sizes: Sizes) -> int:
        """Bytes with these extents, every element of the tensor counted once."""
        found = self.elements(sizes) if self.through is None else self.through.points(sizes)
        return bytes_of(found if self._is_there_once else rounded(found * self.once), self.dtype)

    def once_bytes(self, sizes: Sizes) -> int:
        """Bytes of all that is read or written, with the extents of the whole."""
        return bytes_of(self.touched, self.dtype) if self.touched else self.different_bytes(sizes)


def accesses(graph: Graph, nodes: Sequence[Node], made: Collection[str], chains: Sequence[Addresses]) -> list[Access]:
    """What nodes read from outside. made: what they make themselves; chains: those that are only another address."""
    found: dict[tuple[str, tuple[str, ...]], Access] = {}
    ways = {chain.nodes[0].name: chain for chain in chains}
    for node in nodes:
        touched, _ = kind_of(node).touched(node, graph, graph.sizes)
        own = {name: elements for name, elements in zip(node.reads, touched, strict=True) if name not in made}
        for name, elements in own.items():
            storage, dtype = storage_of(graph, name), graph.tensor_named[name].dtype
            if node.name in ways:
                way = ways[node.name]
                unfolded = any(has(reader, "contracts") for reader in nodes if way.result in reader.reads)
                found[storage, way.dims] = Access(storage, way.dims, dtype, 1, way, elements, unfolded)
                continue
            if has(node, "moves") and len(node.reads) > 1:
                result = graph.tensor_named[node.writes].dims
                share = Fraction(elements, points(result, graph.sizes))
                found[storage, result] = Access(storage, result, dtype, share=share)
                continue
            dims = _dims(graph, node, name, elements)
            before = found.get((storage, dims))
            times = 1 if before is None or dims == graph.tensor_named[storage].dims else before.times + 1
            if elements:
                once = _once(graph, (name, node.writes), dims, elements)
                found[storage, dims] = Access(storage, dims, dtype, times, once=once)
    return list(found.values())


def _once(graph: Graph, names: Sequence[str], dims: tuple[str, ...], elements: int) -> Fraction:
    """The part of the points that are there once, where fewer are touched than an operand and a result have."""
    fewer = all(elements < graph.elements(name) for name in names)
    return Fraction(elements, points(dims, graph.sizes)) if fewer else Fraction(1)


def written(graph: Graph, node: Node) -> Access:
    """What a node writes."""
    _, elements = kind_of(node).touched(node, graph, graph.sizes)
    dtype = graph.tensor_named[node.writes].dtype
    return Access(storage_of(graph, node.writes), _dims(graph, node, node.writes, elements), dtype)


def _dims(graph: Graph, node: Node, name: str, elements: int) -> tuple[str, ...]:
    """The dims with one point for each element that is touched: the tensor's own, those of the result or of the rows.

    A row that is found by an index comes from anywhere: a tile takes one for each of its points, however few there are
    in all. A buffer's operand may have as many points as its result; it is read where the result's tile comes from.
    """
    own, result = (graph.tensor_named[n].dims for n in (name, node.writes))
    if has(node, "updates") and graph.tensor_named[node.writes].shares:
        return own if name in node.reads[1:] else graph.tensor_named[node.reads[2]].dims
    if has(node, "indexes") and not has(node, "updates"):
        return result if name == node.reads[0] else own
    order = (result, own) if has(node, "moves") else (own, result)
    return next((dims for dims in order if points(dims, graph.sizes) == elements), own)

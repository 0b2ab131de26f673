"""The iteration space of nodes that run as one kernel: what a tile reads and writes, which dims may be cut and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu_model.products.product import Product, product_of
from gpu_model.tiles.access import Access, Sizes
from gpu_model.tiles.within import ends_in_windows
from patterns.addressed import Addresses, dims_beside
from patterns.axes import points, union, without
from patterns.count import tensor_bytes
from patterns.follow import Follow, leaders, with_steps
from patterns.graph import Graph, Node
from patterns.kind import has
from patterns.numbers.tiles import carried_dims, new_dims
from patterns.once import computed_once
from patterns.pipeline.hashed import hashed_once
from patterns.plan import Tile


@hashed_once
@dataclass(frozen=True)
class Space:
    """Nodes that are connected by what they hand on to each other.

    free: dims whose tiles are independent of each other, those of the widest result first. stepped: reduced dims that
    may be taken part by part, because nobody reads the reduced result together with them again (or because the parts
    are rescaled online); or the one dim along which a state is carried, which is taken in order. Every other dim is
    whole in every tile. chains: nodes that are only another address.
    looked_up: gathers that only say where operands of products lie. graph: in which products of rows that are looked up
    are taken row by row (see lookups). followed: dims that tiles have as much of as their windows need.
    """

    graph: Graph
    nodes: tuple[Node, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    free: tuple[str, ...]
    stepped: tuple[str, ...]
    chains: tuple[Addresses, ...] = ()
    looked_up: tuple[Node, ...] = ()
    followed: tuple[Follow, ...] = ()

    @computed_once
    def sizes(self) -> Sizes:
        """The graph's extents."""
        return self.graph.sizes

    @computed_once
    def products(self) -> tuple[Product, ...]:
        """The matrix products among the nodes."""
        return tuple(product_of(self.graph, node) for node in self.nodes if has(node, "contracts"))

    @computed_once
    def matrix(self) -> Product | None:
        """The product that gives tiles their shape: the only one, or the first of several with the same dims."""
        shapes = {(frozenset(p.rows), frozenset(p.columns), frozenset(p.batch), p.inner) for p in self.products}
        return self.products[0] if len(shapes) == 1 else None

    @computed_once
    def goes_through(self) -> str:
        """The dim that is stepped through in order, with a state that goes from step to step; '' if there is none."""
        return next((dim for node in self.nodes for dim in carried_dims(node) if dim in self.stepped), "")

    @computed_once
    def is_product(self) -> bool:
        """Whether it is matrix products of the same dims, summed up step by step, and what becomes of their results.

        Besides products there may be buffers, elementwise nodes that make an operand of what is loaded, and nodes that
        run once a tile: elementwise ones, and writes of rows.
        """
        if self.matrix is None:
            return False
        others = [node for node in self.nodes if not (has(node, "contracts") or has(node, "moves"))]
        others = [node for node in others if node not in self.looked_up]
        ends = [node for node in others if node.name not in (*self.converted, *self.promoting)]
        summed = bool(self.promoting) or all(dim in self.stepped or self.sizes[dim] == 1 for dim in self.matrix.inner)
        return not others or (summed and all(self._ends_tile(node) for node in ends))

    @computed_once
    def promoting(self) -> frozenset[str]:
        """Names of the nodes that scale the sums of a block in every step, and add the blocks up."""
        steps = set(self.stepped)
        if self.matrix is None or not steps or not steps <= set(self.matrix.batch):
            return frozenset()
        light = (node for node in self.nodes if has(node, "elementwise") or has(node, "reduces"))
        return frozenset(node.name for node in light if steps <= set(self.dims_of(node))) - self.converted

    @computed_once
    def converted(self) -> frozenset[str]:
        """Names of elementwise nodes between what is loaded and a product: they run in every step, on its operand."""
        written = {access.tensor for access in self.writes}
        found: set[str] = set()
        for node in reversed(self.nodes):
            readers = [other for other in self.nodes if node.writes in other.reads]
            to_products = all(has(other, "contracts") or other.name in found for other in readers)
            if has(node, "elementwise") and readers and to_products and node.writes not in written:
                found.add(node.name)
        late: set[str] = set()
        for node in self.nodes:
            on_the_way = node.name in found or node in self.looked_up
            if not on_the_way or late.intersection(node.reads):
                late.add(node.writes)
        return frozenset(node.name for node in self.nodes if node.name in found and node.writes not in late)

    def _ends_tile(self, node: Node) -> bool:
        """Whether a node runs when a tile's sums are complete."""
        light = has(node, "elementwise") or has(node, "updates") or ends_in_windows(node, self.nodes)
        return light and not set(self.stepped).intersection(self.dims_of(node))

    @computed_once
    def addresses(self) -> frozenset[str]:
        """Names of the nodes that are only another address of what comes from outside."""
        return frozenset(node.name for chain in self.chains for node in chain.nodes) | {n.name for n in self.looked_up}

    @computed_once
    def finds_rows(self) -> bool:
        """Whether what it loads is found by indices, which have to be there before."""
        return any(has(node, "indexes") for node in self.nodes if node not in self.looked_up)

    def dims_of(self, node: Node) -> tuple[str, ...]:
        """Every dim of a node; of one that is only another address those by which it is read."""
        return self._dims.get(node) or dims_beside(self.graph, node, self.chains)

    @computed_once
    def _dims(self) -> Mapping[Node, tuple[str, ...]]:
        return {node: dims_beside(self.graph, node, self.chains) for node in self.nodes}

    @computed_once
    def whole_points(self) -> int:
        """Points of the dims that every tile has whole."""
        dims = union(*(self._tile_dims(node) for node in self.nodes if not has(node, "indexes")))
        return points(without(dims, self._cut_dims), self.sizes)

    @property
    def _cut_dims(self) -> tuple[str, ...]:
        """Dims that tiles have a part of."""
        return (*self.free, *self.stepped, *(follow.dim for follow in self.followed))

    def _tile_dims(self, node: Node) -> tuple[str, ...]:
        """Dims of what a node's tile has: of what a buffer reads from outside only its result, to which that goes.

        Elements that are selected of a row are no more points: each is one of the row's.
        """
        made = {other.writes for other in self.nodes}
        if node.name not in self.addresses and has(node, "moves") and not made.intersection(node.reads):
            return self.graph.tensor_named[node.writes].dims
        return without(self.dims_of(node), new_dims(self.graph, node) if has(node, "reduces") else ())

    @computed_once
    def whole_dims(self) -> tuple[str, ...]:
        """Dims of what it reads that every tile has whole."""
        return without(union(*(access.dims for access in self.reads)), self._cut_dims)

    def whole_of(self, dims: Iterable[str]) -> int:
        """Points of those of the dims that the smallest tile has: of all that it has whole."""
        return max(1, points(dims, self._least))

    def least_bytes(self, cluster: int = 1) -> int:
        """Shared memory of the smallest tile: one point of every dim that may be cut, a row shared by so many CTAs."""
        part = {self.row_dim: -(-self.sizes[self.row_dim] // cluster)} if cluster > 1 else {}
        return sum(access.num_bytes({**self._least, **part}) for access in self.reads)

    @computed_once
    def row_dim(self) -> str:
        """The longest dim that every tile has whole to reduce it, which CTAs could share; '' if there is none."""
        if self.products or any(has(node, "moves") or node.along for node in self.nodes):
            return ""
        reduced = union(*(node.over for node in self.nodes))
        rows = (dim for dim in self.whole_dims if dim in reduced)
        return max(rows, key=lambda dim: self.sizes[dim], default="")

    def least_accumulators(self) -> int:
        """Sums of matrix products in the smallest tile."""
        return (2 if self.promoting else 1) * sum(
            points((*p.batch, *p.rows, *p.columns), self._least) for p in self.products
        )

    @computed_once
    def _least(self) -> Sizes:
        return with_steps(self.followed, {**self.sizes, **dict.fromkeys((*self.free, *self.stepped), 1)})

    def tile_sizes(self, loops: Iterable[Tile]) -> dict[str, int]:
        """Extents of a full tile."""
        extents = {loop.dim: min(loop.extent, self.sizes[loop.dim]) for loop in loops}
        return dict(with_steps(self.followed, {**self.sizes, **extents}))

    def with_leaders(self, dims: Iterable[str]) -> frozenset[str]:
        """The dims, and those that they follow."""
        return leaders(self.followed, frozenset(dims))


def steps_of(loop: Tile, sizes: Sizes) -> int:
    """Steps of a loop: the last takes what is left."""
    return -(-sizes[loop.dim] // loop.extent)


def cut(dims: Sequence[str], sizes: Sizes, target: int) -> tuple[Tile, ...]:
    """Loops such that a tile has about `target` points, taken from the innermost dim outwards; none for whole dims."""
    loops: list[Tile] = []
    for dim in reversed(dims):
        extent = min(sizes[dim], max(1, target))
        if extent < sizes[dim]:
            loops.append(Tile(dim, extent))
        target //= extent
    return tuple(reversed(loops))


@lru_cache(maxsize=4096)
def whole_reads(spaces: tuple[Space, ...]) -> Mapping[str, int]:
    """Bytes of every tensor that is read from outside, once: of rows and slices those that are taken, at most all."""
    taken: dict[str, dict[tuple[str, ...], Access]] = {}
    whole: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for space in spaces:
        for access in space.reads:
            of_tensor = taken.setdefault(access.tensor, {})
            before = of_tensor.get(access.dims)
            own = access.dims == space.graph.tensor_named[access.tensor].dims
            of_tensor[access.dims] = access if before is None or own else _together(before, access)
            whole[access.tensor] = tensor_bytes(space.graph, access.tensor)
            sizes |= space.sizes
    return {name: min(whole[name], sum(one.once_bytes(sizes) for one in of.values())) for name, of in taken.items()}


def _together(left: Access, right: Access) -> Access:
    return replace(left, times=left.times + right.times)


@lru_cache(maxsize=4096)
def whole_writes(spaces: tuple[Space, ...]) -> int:
    """Bytes that are written."""
    return sum(access.once_bytes(space.sizes) for space in spaces for access in space.writes)

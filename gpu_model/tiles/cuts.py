"""A space cut into tiles, and what one tile asks of an SM: bytes, matrix cycles, ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from gpu_model.machine import Machine
from gpu_model.price import Mma, mma, vector_cycles
from gpu_model.products.product import Product
from gpu_model.smem_layout import USUAL, conflict_ways
from gpu_model.tiles.access import Access
from gpu_model.tiles.footprint import Footprint, footprint
from gpu_model.tiles.space import Space, steps_of
from patterns.axes import points
from patterns.carried import ways
from patterns.dtypes import bytes_of
from patterns.graph import Node
from patterns.kind import packs
from patterns.once import computed_once
from patterns.pipeline.hashed import hashed_once, made_directly
from patterns.plan import Tile

PARTIAL_BYTES = 4
# Of every row of an online kernel's part: its greatest score and its sum.
ONLINE_VALUES = 2


@hashed_once
@made_directly
@dataclass(frozen=True)
class Cut:
    """A space in tiles: `loops` over free dims, `steps` over stepped ones inside; `parts` share a tile's steps.

    kept: (tiles, steps) where a mask leaves tiles different numbers of steps, longest first; () where it does not.
    spread: a dim that a tile has whole, in the parts that the CTAs of a cluster have of it; each counts as a tile.
    """

    space: Space
    loops: tuple[Tile, ...]
    steps: tuple[Tile, ...] = ()
    parts: int = 1
    kept: tuple[tuple[int, int], ...] = ()
    spread: Tile | None = None

    @computed_once
    def footprint(self) -> Footprint:
        """One tile in one step."""
        return footprint(self.space, self.loops, self.steps, self.spread)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Extents of a full tile in one step, or of a CTA's part of it."""
        return self.footprint.sizes

    @computed_once
    def different(self) -> tuple[tuple[Access, int, bool, int], ...]:
        """Of each tensor that a tile reads: its bytes, each element once, whether steps go along it, and how many tiles
        have other parts of it."""
        steps = [(loop.dim, steps_of(loop, self.space.sizes)) for loop in self.loops]
        return tuple(
            [
                (access, num_bytes, stepped, prod([count for dim, count in steps if dim in access.changes]))
                for access, num_bytes, stepped in self.footprint.different
            ]
        )

    @computed_once
    def cluster(self) -> int:
        """CTAs that share a tile."""
        return steps_of(self.spread, self.space.sizes) if self.spread else 1

    @computed_once
    def tiles(self) -> int:
        """Tiles, each part counted."""
        return prod(steps_of(loop, self.space.sizes) for loop in self.loops) * self.parts * self.cluster

    @computed_once
    def steps_per_tile(self) -> int:
        """Steps of one tile, or of the longest part of it; of the longest tile, where a mask shortens some."""
        if self.kept:
            return self.kept[0][1]
        return -(-prod(steps_of(step, self.space.sizes) for step in self.steps) // self.parts)

    @computed_once
    def all_steps(self) -> int:
        """Steps of all tiles, each part counted."""
        if self.kept:
            return sum(tiles * steps for tiles, steps in self.kept)
        return self.tiles * self.steps_per_tile

    @property
    def step_bytes(self) -> int:
        """Bytes that change from step to step."""
        return self.footprint.step_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes that a tile loads once and holds."""
        return self.footprint.held_bytes

    @property
    def finish_bytes(self) -> int:
        """Bytes that only the end of a tile reads: they pass through it piece by piece, and nothing holds them."""
        return self.footprint.finish_bytes

    @computed_once
    def tile_bytes(self) -> int:
        """Bytes through the SM's port for all of a tile's loads."""
        return self.step_bytes * self.steps_per_tile + self.held_bytes + self.finish_bytes

    @computed_once
    def loaded_bytes(self) -> int:
        """Bytes through all SMs' ports for all loads."""
        return self.step_bytes * self.all_steps + (self.held_bytes + self.finish_bytes) * self.tiles

    @computed_once
    def out_bytes(self) -> int:
        """Bytes that a tile stores. Parts store what they summed up in fp32, and what rescales it."""
        if self.parts == 1:
            return sum(access.num_bytes(self.sizes) * self._stores_of(access) for access in self.space.writes)
        if not self.space.products:
            packed = sum(-(-self._results(node) // self.parts) for node in self._reduced if packs(node))
            return (self.partial_results + packed) * PARTIAL_BYTES
        product = self.space.products[-1]
        rows = points((*product.batch, *product.rows), self.sizes)
        values = points((*product.batch, *product.rows, *product.columns), self.sizes)
        return (values + self.rescaling_values * rows) * PARTIAL_BYTES

    @computed_once
    def partial_results(self) -> int:
        """Values of a part of what its steps reduce that the other parts must know."""
        return sum(1 if packs(node) else self._results(node) for node in self._reduced)

    @computed_once
    def _reduced(self) -> tuple[Node, ...]:
        return tuple(node for node in self.space.nodes if any(step.dim in node.over for step in self.steps))

    def _results(self, node: Node) -> int:
        return points(self.space.graph.tensor_named[node.writes].dims, self.sizes)

    @property
    def meets(self) -> bool:
        """Whether the CTAs that have a tile's parts put them together in the kernel itself, as reductions do."""
        return self.parts > 1 and not self.space.products

    def _stores_of(self, access: Access) -> int:
        """How often a tile stores a part of a result: once, or after each step of what a state is carried along."""
        return prod(steps_of(step, self.space.sizes) for step in self.steps if step.dim in access.changes)

    @property
    def rescaling_values(self) -> int:
        """Values of every row that rescale a part: none where parts are only added up."""
        return ONLINE_VALUES if len(self.space.products) > 1 else 0

    @computed_once
    def accumulators(self) -> int:
        """fp32 values of one tile's matrix results that stay in registers: of a block and of all, where they differ."""
        of_step = sum(points((*p.batch, *p.rows, *p.columns), self.sizes) for p in self.space.products)
        return 2 * of_step if self.space.promoting else of_step

    @computed_once
    def shared_in_step(self) -> tuple[int, int]:
        """Bytes of the largest operand of a step that several tiles have in common, and how many: (0, 1) if none."""
        found = [(num_bytes, self._alike(access)) for access, num_bytes in self.footprint.reads]
        return max((one for one in found if one[1] > 1), default=(0, 1))

    def _alike(self, access: Access) -> int:
        """Tiles that load the same part of a tensor in a step."""
        if not self.footprint.is_stepped(access.changes):
            return 1
        return prod(steps_of(loop, self.space.sizes) for loop in self.loops if loop.dim not in access.changes)

    def loads_of(self, access: Access) -> int:
        """How often a tile of a tensor is loaded: in every step, or once for every tile that holds it."""
        return self.all_steps if self.footprint.is_stepped(access.changes) else self.tiles

    def in_step(self, node: Node) -> bool:
        """Whether a node runs in every step, not once at a tile's end."""
        return self.footprint.in_step(node)


@made_directly
@dataclass(frozen=True)
class Amounts:
    """What tiles ask of the units: matrix cycles and FLOPs as issued, ops, payload bytes.

    compare_ops: those vector ops that compare or convert. dependent_ops: vector ops in a row of which each needs the
    result of the one before.
    """

    matrix_cycles: int = 0
    matrix_flops: int = 0
    vector_ops: int = 0
    special_ops: int = 0
    network_bytes: int = 0
    compare_ops: int = 0
    dependent_ops: int = 0

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(
            self.matrix_cycles + other.matrix_cycles,
            self.matrix_flops + other.matrix_flops,
            self.vector_ops + other.vector_ops,
            self.special_ops + other.special_ops,
            self.network_bytes + other.network_bytes,
            self.compare_ops + other.compare_ops,
            max(self.dependent_ops, other.dependent_ops),
        )

    def times(self, count: int) -> Amounts:
        """So many of them."""
        return Amounts(
            self.matrix_cycles * count,
            self.matrix_flops * count,
            self.vector_ops * count,
            self.special_ops * count,
            self.network_bytes * count,
            self.compare_ops * count,
            self.dependent_ops * count,
        )


@made_directly
@dataclass(frozen=True)
class Priced:
    """A cut with what one step and one end of a tile ask: several amounts where matrix and other work alternate.

    row_blocks: see Work.
    """

    cut: Cut
    step: tuple[Amounts, ...]
    finish: Amounts
    row_blocks: int = 1

    @computed_once
    def total(self) -> Amounts:
        """All tiles, as issued."""
        return sum(self.step, Amounts()).times(self.cut.all_steps) + self.finish.times(self.cut.tiles)

    @computed_once
    def matrix_flops(self) -> int:
        """Those of `total`: asked for of every cut, where only few cuts are asked for all."""
        in_step = sum([amounts.matrix_flops for amounts in self.step])
        return in_step * self.cut.all_steps + self.finish.matrix_flops * self.cut.tiles


def price_cut(cut: Cut, machine: Machine, layout: str = USUAL) -> Priced:
    """What the tiles of a cut ask of an SM's units, operands lying in shared memory in a layout."""
    step: list[Amounts] = []
    finish = Amounts(vector_ops=_conversions(cut))
    for node in cut.space.nodes:
        amounts = amounts_of(cut, node, machine, layout)
        if not cut.in_step(node):
            finish += amounts
        elif not step or (amounts.matrix_cycles and step[-1] != Amounts()):
            step.append(amounts)
        else:
            step[-1] += amounts
    blocks = [mma_of(cut, product, machine, layout).row_blocks for product in cut.space.products]
    return Priced(cut, tuple(step), finish, min(blocks, default=1))


def amounts_of(cut: Cut, node: Node, machine: Machine, layout: str = USUAL) -> Amounts:
    """What one node of a tile asks, in every step or once a tile."""
    found = ways(cut.space.graph, node, cut.sizes)
    way = min(found, key=lambda way: vector_cycles(machine, way.demand.vector_ops, in_a_row=way.in_a_row))
    demand = way.demand
    product = next((p for p in cut.space.products if p.node == node.name), None)
    issued = mma_of(cut, product, machine, layout) if product else Mma(0, 0)
    ops = (demand.vector_ops, demand.special_ops, demand.network_bytes)
    return Amounts(issued.cycles, issued.flops, *ops, dependent_ops=way.in_a_row)


def mma_of(cut: Cut, product: Product, machine: Machine, layout: str = USUAL) -> Mma:
    """One step of a matrix product."""
    sizes = cut.sizes
    rows, columns, inner = (points(dims, sizes) for dims in (product.rows, product.columns, product.inner))
    conflicts = conflict_ways(layout, row_bytes(cut, product))
    return mma(machine, rows, columns, inner, product.dtype, points(product.batch, sizes), conflicts)


def row_bytes(cut: Cut, product: Product) -> int:
    """Bytes of a row of an operand in one step: its points along K."""
    return bytes_of(points(product.inner, cut.sizes), product.dtype)


def _conversions(cut: Cut) -> int:
    """Accumulators that become elements of results: one vector op each."""
    if not cut.space.products:
        return 0
    return sum(access.elements(cut.sizes) for access in cut.space.writes)

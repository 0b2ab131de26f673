"""Tiles and splits of matrix products ranked by a bound in integers, so that only the best few are priced in full.

A bound leaves out what all ways to cut a product pay alike, re-reads of operands, and how well a schedule overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_model.asked import Asked
from gpu_model.machine import Machine
from gpu_model.price import mma
from gpu_model.products.product import Product
from gpu_model.ring_paths import RING_SLOTS
from gpu_model.schedule import adds_up
from gpu_model.tiles.cuts import PARTIAL_BYTES
from gpu_model.tiles.space import Space
from gpu_model.tiles.tile import Targets
from patterns.axes import points, without
from patterns.dtypes import bytes_of, dtype_bits, elements_in
from patterns.pipeline.hashed import changed, made_directly

MOST_PRICED = 5
MOST_WAVES = 4
# Parts of a split K that are tried, as libraries do.
SPLITS = (2, 3, 4, 6, 8, 12, 16, 24, 32)

# Rows, columns and inner of a tile.
_Extents = tuple[int, int, int]


@made_directly
@dataclass(frozen=True)
class _Shape:
    """A space of matrix products in numbers."""

    batch: int
    rows: int
    columns: int
    inner: int
    dtype: str
    out_dtype: str

    @property
    def results(self) -> int:
        """Elements of its result."""
        return self.batch * self.rows * self.columns


@made_directly
@dataclass(frozen=True)
class _Tile:
    """One aim for one shape: how many tiles that are, and what each asks of its SM."""

    tiles: int
    steps: int
    step_cycles: int
    finish_cycles: int
    step_bytes: int
    parts: int = 1

    def split(self, parts: int) -> _Tile:
        """With its steps in equal parts, each a tile of its own."""
        if parts == 1 or self.steps == 1:
            return self
        steps = -(-self.steps // parts)
        real = -(-self.steps // steps)
        return changed(self, tiles=self.tiles * real, steps=steps, parts=real)


def best_aims(asked: Asked, aims: Iterable[Targets], machine: Machine, gap_cycles: int) -> tuple[Targets, ...]:
    """Of these aims, and of theirs with K split, the few with the least bounds; gap_cycles: before one more kernel."""
    shapes = tuple(_shape(space, space.matrix) for space in asked.spaces if space.matrix)
    hbm_bytes = sum(asked.once.values()) + sum(bytes_of(shape.results, shape.out_dtype) for shape in shapes)
    on_hbm, splits = _hbm_cycles(hbm_bytes, machine), _splits(asked)
    found: dict[tuple[_Tile, ...], tuple[int, Targets]] = {}
    first_of: dict[tuple[_Extents, ...], Targets] = {}
    for targets in aims:
        # Few rows make most aims the same tile: it is looked at once.
        first_of.setdefault(tuple([_extents(shape, targets, machine) for shape in shapes]), targets)
    for extents, targets in first_of.items():
        whole = [_tile(shape, of, machine) for shape, of in zip(shapes, extents, strict=True)]
        # Parts of tiles that keep all SMs at work for long have nothing to gain.
        most = MOST_WAVES * machine.sm_count // sum([tile.tiles for tile in whole])
        for parts in splits:
            if parts > max(most, splits[0]):
                break
            tiles = tuple([tile.split(parts) for tile in whole])
            if tiles not in found:
                bound = max(on_hbm, _bound(tiles, machine)) + _combining(shapes, tiles, machine, gap_cycles)
                found[tiles] = bound, changed(targets, parts=parts)
    ranked = [targets for _, targets in sorted(found.values(), key=lambda one: one[0])]
    # What splitting saves is told beside the best that is whole; there is none where the user fixed a split.
    best = ranked[:MOST_PRICED]
    whole_ones = [] if any(targets.parts == 1 for targets in best) else [t for t in ranked if t.parts == 1][:1]
    return tuple(best[: MOST_PRICED - len(whole_ones)] + whole_ones)


def can_split(asked: Asked) -> bool:
    """Whether K may be shared out: nothing but one product, whose sums another kernel can add up."""
    return asked.is_product and len(asked.spaces) == 1 and len(asked.spaces[0].nodes) == 1


def _splits(asked: Asked) -> tuple[int, ...]:
    """K in as many parts as the user fixed, or in several; whole for a schedule that the user named."""
    fixed, named = asked.options.splits, asked.is_named
    if not can_split(asked) or (named and adds_up(asked.schedule)):
        return (1,)
    return (fixed or 1,) if fixed or named else (1, *SPLITS)


def _shape(space: Space, product: Product) -> _Shape:
    # Blocks that are summed up are steps.
    blocks = space.stepped if space.promoting else ()
    dims = (without(product.batch, blocks), product.rows, product.columns, (*product.inner, *blocks))
    batch, rows, columns, inner = (points(names, space.sizes) for names in dims)
    widest = max((write.dtype for write in space.writes), key=dtype_bits)
    return _Shape(batch, rows, columns, inner, product.dtype, widest)


def _extents(shape: _Shape, targets: Targets, machine: Machine) -> _Extents:
    rows, columns = min(targets.rows or shape.rows, shape.rows), min(targets.columns or shape.columns, shape.columns)
    inner = targets.inner or max(1, elements_in(machine.tile_k_bytes, shape.dtype))
    return rows, columns, min(inner, shape.inner)


def _tile(shape: _Shape, extents: _Extents, machine: Machine) -> _Tile:
    rows, columns, inner = extents
    num_bytes = bytes_of((rows + columns) * inner, shape.dtype)
    out_bytes = bytes_of(rows * columns, shape.out_dtype)
    tiles = shape.batch * -(-shape.rows // rows) * -(-shape.columns // columns)
    step = _step_cycles(shape, extents, num_bytes, machine)
    finish = -(-rows * columns // machine.vector_ops_per_cycle) - -out_bytes // machine.store_bytes_per_cycle
    return _Tile(tiles, -(-shape.inner // inner), step, finish, num_bytes)


def _step_cycles(shape: _Shape, tile: _Extents, num_bytes: int, machine: Machine) -> int:
    """The slowest of the tensor core with what comes around it, the SM's port, and a slot's way around the ring."""
    product = mma(machine, *tile, shape.dtype)
    around = machine.barrier_cycles + machine.mma_issue_cycles + machine.mma_wait_cycles
    # Two consumers with half of the rows each hide what the other waits for.
    alone = product.cycles if product.row_blocks == 1 else -(-product.cycles // 2)
    computing = max(product.cycles, alone + around)
    slots = min(RING_SLOTS[-1], max(1, machine.smem_bytes_per_cta // num_bytes))
    arriving = -(-num_bytes // machine.load_bytes_per_cycle)
    return max(computing, arriving, (arriving + machine.load_latency_cycles + computing) // slots)


def _bound(tiles: tuple[_Tile, ...], machine: Machine) -> int:
    """Cycles: the SM with most tiles, of the dearest sort; the L2. (The HBM takes as long for all ways to cut.)"""
    waves = -(-sum([tile.tiles for tile in tiles]) // machine.sm_count)
    on_sm = max([waves * tile.steps * tile.step_cycles + tile.finish_cycles for tile in tiles])
    on_l2 = sum([tile.tiles * tile.steps * tile.step_bytes for tile in tiles]) // machine.l2_bytes_per_cycle
    return max(on_sm, on_l2)


def _combining(shapes: tuple[_Shape, ...], tiles: tuple[_Tile, ...], machine: Machine, gap_cycles: int) -> int:
    """What splitting costs: partial sums to the memory and back, and one kernel more."""
    if all(tile.parts == 1 for tile in tiles):
        return 0
    moved = sum([2 * PARTIAL_BYTES * tile.parts * shape.results for shape, tile in zip(shapes, tiles, strict=True)])
    start = machine.kernel_ramp_cycles + machine.kernel_drain_cycles + 2 * machine.load_latency_cycles
    return gap_cycles + start + _hbm_cycles(moved, machine)


def _hbm_cycles(num_bytes: int, machine: Machine) -> int:
    return num_bytes * machine.clock_hz // machine.hbm_achieved_bytes_per_s

"""Tiles of a kernel: which are tried, and the loops that they make of its spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product as every

from gpu_model.asked import Asked
from gpu_model.attention.kept import with_kept
from gpu_model.attention.work import price_online
from gpu_model.choice.alike import alike
from gpu_model.choice.smallest import row_clusters
from gpu_model.machine import Machine
from gpu_model.tiles.cuts import Cut, Priced, price_cut
from gpu_model.tiles.space import Space, cut, steps_of
from patterns.axes import points
from patterns.dtypes import elements_in
from patterns.pipeline.hashed import changed, made_directly
from patterns.plan import Tile

# Extents that are tried beside the machine's for matrix tiles: of an online kernel rows, in those of as many
# warpgroups, and steps; points of others' tiles.
ONLINE_ROWS = (1, 2, 3)
WARPGROUP_ROWS = 64
ONLINE_STEPS = (32, 64, 80, 96, 112, 128, 160, 176, 192, 224, 256)
POINTS = (128, 512, 2048, 8192, 32768)
# Where a state is carried along a dim, few rows may be a tile; elements of a step along that dim.
FEW_POINTS = (1, 8, 32)
IN_ORDER = (1, 8, 32, 128, 1024, 8192)


@made_directly
@dataclass(frozen=True)
class Targets:
    """Points of a tile that are aimed at: rows, columns and inner of a product, or of all dims together (where
    a state is carried along a dim, of all others, and `inner` of that one in each step).

    parts: shares of a tile's steps, each a tile of its own. cluster: CTAs that share a tile's longest row.
    """

    rows: int = 0
    columns: int = 0
    inner: int = 0
    points: int = 0
    parts: int = 1
    cluster: int = 1


SMALLEST = Targets(rows=1, columns=1, inner=1, points=1)


def cuttings(asked: Asked, aims: Iterable[Targets], machine: Machine) -> Iterator[tuple[Cut, ...]]:
    """Different ways to cut all spaces, the same targets for each."""
    seen = set()
    by_rows = asked.online or asked.is_product
    for targets in aims:
        cuts = tuple(_cut(space, targets, machine, by_rows) for space in asked.spaces)
        key = tuple((c.loops, c.steps, c.parts, c.spread) for c in cuts)
        if key not in seen:
            seen.add(key)
            yield tuple(map(with_kept, cuts)) if asked.online else cuts


@lru_cache(maxsize=64)
def all_cuttings(asked: Asked, aims: tuple[Targets, ...], machine: Machine) -> tuple[tuple[Cut, ...], ...]:
    """All of them: a kernel is asked for them to see whether it fits, and again to choose one."""
    return tuple(cuttings(asked, aims, machine))


def priced(asked: Asked, cuts: Iterable[Cut], machine: Machine) -> tuple[Priced, ...]:
    """What the tiles of all spaces ask of an SM's units."""
    if asked.online:
        return tuple([price_online(cut, machine) for cut in cuts])
    return tuple([_priced(cut, alike(cut), machine, asked.layout) for cut in cuts])


def _priced(cut: Cut, whole: Cut, machine: Machine, layout: str) -> Priced:
    """A cut with what its tiles ask, which is what those of `whole` do."""
    return changed(_price_alike(whole, machine, layout), cut=cut)


@lru_cache(maxsize=2048)
def _price_alike(whole: Cut, machine: Machine, layout: str) -> Priced:
    """Memo of `price_cut`, for all cuts that are alike."""
    return price_cut(whole, machine, layout)


def targets_of(asked: Asked, machine: Machine) -> Iterable[Targets]:
    """What is aimed at for a kernel of its sort: every extent that is tried, or those that the user fixed."""
    options = asked.options
    rows = (options.tile_m,) if options.tile_m else machine.tile_rows
    if asked.online:
        block = max(WARPGROUP_ROWS, machine.mma_rows)
        every_rows = sorted({WARPGROUP_ROWS, *(count * block for count in ONLINE_ROWS)})
        rows = (options.tile_m,) if options.tile_m else _distinct(every_rows, asked.spaces)
        inner = (options.tile_k,) if options.tile_k else ONLINE_STEPS
        return (Targets(r, 0, k) for r, k in every(rows, inner))
    if asked.is_product:
        columns = (options.tile_n,) if options.tile_n else machine.tile_columns
        return (Targets(r, c, options.tile_k or 0) for r, c in every(rows, columns))
    in_order = any(space.goes_through for space in asked.spaces)
    along, sizes = (IN_ORDER, (*FEW_POINTS, *POINTS)) if in_order else ((0,), POINTS)
    return (
        Targets(points=p, inner=i, cluster=c) for c, p, i in every(row_clusters(asked.spaces, machine), sizes, along)
    )


def _distinct(rows: Iterable[int], spaces: Iterable[Space]) -> tuple[int, ...]:
    """Extents of rows that make different tiles: of those that are all rows there are, one."""
    sides = ((_sides(space), space.sizes) for space in spaces)
    most = max(points(side.rows, sizes) * side.high for side, sizes in sides)
    return tuple(dict.fromkeys(min(extent, most) for extent in rows))


def _cut(space: Space, targets: Targets, machine: Machine, by_rows: bool) -> Cut:
    if not by_rows and space.goes_through:
        loops = cut(space.free, space.sizes, max(1, targets.points // space.whole_points))
        return Cut(space, loops, cut(space.stepped, space.sizes, targets.inner))
    if not by_rows:
        loops = cut((*space.free, *space.stepped), space.sizes, max(1, targets.points // space.whole_points))
        row = space.row_dim
        steps = tuple(loop for loop in loops if loop.dim in space.stepped)
        return Cut(
            space,
            tuple(loop for loop in loops if loop.dim in space.free),
            steps,
            _parts(space, steps, targets),
            spread=Tile(row, -(-space.sizes[row] // targets.cluster)) if targets.cluster > 1 else None,
        )
    first, sides = space.products[0], _sides(space)
    inner = targets.inner or max(1, elements_in(machine.tile_k_bytes, first.dtype))
    inner = inner // space.whole_of(first.inner) if space.promoting else inner
    loops = (
        *(Tile(dim, 1) for dim in sides.others if space.sizes[dim] > 1),
        *cut(sides.rows, space.sizes, targets.rows // sides.high),
        *(cut(sides.columns, space.sizes, targets.columns // sides.wide) if targets.columns else ()),
    )
    steps = cut(space.stepped, space.sizes, inner)
    return Cut(space, loops, steps, _parts(space, steps, targets))


@dataclass(frozen=True)
class _Sides:
    """Free dims of a space of products by what they are of the products' tiles; points of rows and columns that every
    tile has."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    others: tuple[str, ...]
    high: int
    wide: int


@lru_cache(maxsize=2048)
def _sides(space: Space) -> _Sides:
    first, last = space.products[0], space.products[-1]
    # Of an online kernel, whichever side of the first product is not reduced later is its rows.
    sides = first.rows if space.matrix else (*first.rows, *first.columns)
    rows = tuple(dim for dim in space.free if dim in space.with_leaders(sides))
    columns = tuple(dim for dim in space.free if dim in space.with_leaders(last.columns) and dim not in rows)
    others = tuple(dim for dim in space.free if dim not in rows and dim not in columns)
    return _Sides(rows, columns, others, space.whole_of(sides), space.whole_of(last.columns))


def _parts(space: Space, steps: tuple[Tile, ...], targets: Targets) -> int:
    """In how many parts a tile's steps are. One dim can be shared out; steps over two would be parts of neither."""
    return min(targets.parts, steps_of(steps[0], space.sizes)) if len(steps) == 1 else 1

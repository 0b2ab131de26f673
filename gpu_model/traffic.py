"""Bytes that a kernel moves by level, from the tiles it is cut into.

L2: every tile loads its operands through its SM's port. HBM: a tensor that several tiles read comes from there once if
all that the kernel reads fits the L2 together, or if it alone takes at most half of it; else once for every set of
tiles that run together and share it. Results are written to the HBM, and the next kernel reads them from there, unless
the L2 still has them (see l2_recent.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, prod

from gpu_model.machine import Machine
from gpu_model.products.product import Product
from gpu_model.tiles.access import Access
from gpu_model.tiles.cuts import Cut
from gpu_model.tiles.space import steps_of, whole_writes
from patterns.axes import points
from patterns.pipeline.hashed import made_directly
from patterns.plan import Tile


@made_directly
@dataclass(frozen=True)
class Moved:
    """Bytes of one launch on the whole GPU. loaded, stored: through the SMs' ports."""

    loaded: int
    stored: int
    hbm_read: int
    hbm_written: int


def moved(cuts: Sequence[Cut], once: Mapping[str, int], machine: Machine) -> Moved:
    """What the tiles of all cuts move. once: bytes of every tensor that is read (see whole_reads)."""
    loaded = sum(cut.loaded_bytes for cut in cuts)
    stored = sum(cut.out_bytes * cut.tiles for cut in cuts)
    read = sum(hbm_reads(cuts, once, machine).values())
    return Moved(loaded, stored, read, _hbm_writes(cuts, stored, machine))


def _hbm_writes(cuts: Sequence[Cut], stored: int, machine: Machine) -> int:
    """Bytes that go to the HBM: results, and the parts of some unless they stay in the L2 until they are combined."""
    if all(cut.parts == 1 or cut.meets for cut in cuts):
        return whole_writes(tuple(cut.space for cut in cuts))
    return 0 if all(parts_stay(cut, machine) for cut in cuts) else stored


def stays_in_l2(num_bytes: int, machine: Machine) -> bool:
    """Whether the L2 still has bytes when they are read again, others passing between: assumed, up to half of it."""
    return 2 * num_bytes <= machine.l2_bytes


def parts_stay(cut: Cut, machine: Machine) -> bool:
    """Whether the parts of an attention kernel take so little that the next kernel finds them in the L2."""
    return cut.space.matrix is None and stays_in_l2(cut.out_bytes * cut.tiles, machine)


def hbm_reads(cuts: Sequence[Cut], once: Mapping[str, int], machine: Machine) -> dict[str, int]:
    """Bytes that come from the HBM, by tensor."""
    if sum(once.values()) <= machine.l2_bytes:
        return dict(once)
    return {name: _from_hbm(name, num_bytes, cuts, machine) for name, num_bytes in once.items()}


def _from_hbm(name: str, once: int, cuts: Sequence[Cut], machine: Machine) -> int:
    """Bytes of one tensor that come from the HBM."""
    if stays_in_l2(once, machine):
        return once
    again = [
        (_of_patches(cut, access, machine), 1)
        if access.through
        else (num_bytes * (cut.all_steps if stepped else cut.tiles), _sharing(cut, access, different, machine))
        for cut in cuts
        for access, num_bytes, stepped, different in cut.different
        if access.tensor == name
    ]
    if len(again) == 1:  # as most
        ((amount, among),) = again
        return max(once, -(-amount // among))
    return max(once, ceil(sum(Fraction(amount, among) for amount, among in again)))


def _of_patches(cut: Cut, access: Access, machine: Machine) -> int:
    """Bytes that tiles of windows bring: of each set that runs together, what its windows reach, each element once.

    Its tiles are beside each other, and steps find in the L2 what the steps just before them have loaded.
    """
    left, tiles, patch = min(machine.sm_count, cut.tiles), 1, []
    for loop in reversed(cut.loops):
        wide = min(left, steps_of(loop, cut.space.sizes))
        patch.append(Tile(loop.dim, loop.extent * wide))
        left, tiles = left // wide, tiles * wide
    return access.different_bytes(cut.space.tile_sizes(patch)) * -(-cut.tiles // (cut.parts * tiles))


def _sharing(cut: Cut, access: Access, different: int, machine: Machine) -> int:
    """Tiles of a set that runs together which read the same part of a tensor, of which there are so many different."""
    together = min(machine.sm_count, cut.tiles)
    if cut.space.matrix:
        return _sharing_in_patch(cut, cut.space.matrix, access, together)
    return max(1, min(together, cut.tiles // different))


def _sharing_in_patch(cut: Cut, product: Product, access: Access, together: int) -> int:
    """In a patch of rows x columns of tiles, as wide as costs least, a row's operand serves all its columns."""
    rows, columns = (_tiles_along(cut, dims) for dims in (product.rows, product.columns))
    of_rows = any(dim in access.dims for dim in product.rows)
    high, wide = _patch(cut, product, rows, columns, together)
    return wide if of_rows else high


def _tiles_along(cut: Cut, dims: Sequence[str]) -> int:
    return prod(steps_of(loop, cut.space.sizes) for loop in cut.loops if loop.dim in cut.space.with_leaders(dims))


def _patch(cut: Cut, product: Product, rows: int, columns: int, together: int) -> tuple[int, int]:
    """(rows, columns) of tiles that run together, nearly square in bytes."""
    if rows * columns <= together:
        return rows, columns
    high = isqrt(together * points(product.columns, cut.sizes) // points(product.rows, cut.sizes))
    high = min(rows, max(1, high, -(-together // columns)), together)
    return high, max(1, together // high)

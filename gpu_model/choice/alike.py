"""Cuts whose tiles ask for the same, whatever there is of them: those of all contexts and batches as one."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gpu_model.tiles.cuts import Cut
from gpu_model.tiles.footprint import Footprint
from gpu_model.tiles.frame import frame_of
from patterns.plan import Tile


def alike(cut: Cut) -> Cut:
    """A cut whose tile is all there is of its space, where what a tile asks for depends on nothing else.

    So tiles of different contexts and batches are equal. Other cuts stay as they are.
    """
    return cut if frame_of(cut.space) is None else _whole(cut.footprint)


@lru_cache(maxsize=4096)
def _whole(tile: Footprint) -> Cut:
    """Memo of `alike` by what a tile has."""
    whole = replace(tile.space, graph=replace(tile.space.graph, extents=tile.extents))
    return Cut(whole, (), tuple(Tile(dim, tile.sizes[dim]) for dim in tile.stepped))

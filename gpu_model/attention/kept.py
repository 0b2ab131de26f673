"""What a mask leaves of the steps of an attention kernel's tiles: blocks that it hides are left out."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from gpu_model.tiles.cuts import Cut
from gpu_model.tiles.space import Space
from patterns.counting.needed import Mask, masks
from patterns.pipeline.hashed import changed


def with_kept(cut: Cut) -> Cut:
    """The cut with what a mask leaves of its tiles' steps."""
    return changed(cut, kept=kept) if (kept := kept_steps(cut)) else cut


def kept_steps(cut: Cut) -> tuple[tuple[int, int], ...]:
    """(tiles, steps) for tiles that differ in their steps: of each, those of which a mask keeps anything; () if none.

    Parts of a tile share out its steps.
    """
    space = cut.space
    for mask in _masks(space):
        steps = [step for step in cut.steps if step.dim == mask.column]
        if len(cut.steps) == 1 and steps and (mask.rows > 1 or mask.window):
            extent = next((loop.extent for loop in cut.loops if loop.dim == mask.row), mask.rows)
            starts = range(0, mask.rows, extent)
            needed = [_steps_between(mask, start, min(start + extent, mask.rows), steps[0].extent) for start in starts]
            found = Counter(-(-count // cut.parts) for count in needed)
            others = cut.tiles // len(starts)
            return tuple((tiles * others, count) for count, tiles in sorted(found.items(), reverse=True))
    return ()


@lru_cache(maxsize=256)
def _masks(space: Space) -> tuple[Mask, ...]:
    """The masks of a space, for all its cuts."""
    return tuple(masks(space.graph, space.nodes))


def _steps_between(mask: Mask, start: int, end: int, extent: int) -> int:
    """Steps of `extent` columns of which rows from `start` to before `end` need anything."""
    return max(1, -(-mask.kept(end) // extent) - mask.first(start) // extent)

"""The functions of a reduce, each taken in parts that are merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from patterns.functions.function import Parts, Reduction


def _first_greatest(np: Any, left: Parts, right: Parts) -> Parts:
    better = right[0] > left[0]
    return np.where(better, right[0], left[0]), np.where(better, right[1], left[1])


def _count(np: Any, x: Any, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[axis] for axis in axes]))


def _last(np: Any, x: Any, axes: tuple[int, ...]) -> Any:
    return x[tuple(-1 if axis in axes else slice(None) for axis in range(x.ndim))]


_REDUCTIONS: tuple[Reduction, ...] = (
    Reduction(
        "sum",
        part=lambda np, x, axes, first: (x.sum(axis=axes),),
        merge=lambda np, a, b: (a[0] + b[0],),
        finish=lambda parts: parts[0],
        adds=True,
    ),
    Reduction(
        "max",
        part=lambda np, x, axes, first: (x.max(axis=axes),),
        merge=lambda np, a, b: (np.maximum(a[0], b[0]),),
        finish=lambda parts: parts[0],
    ),
    Reduction(
        "min",
        part=lambda np, x, axes, first: (x.min(axis=axes),),
        merge=lambda np, a, b: (np.minimum(a[0], b[0]),),
        finish=lambda parts: parts[0],
    ),
    Reduction(
        "mean",  # the division of the sum is folded into what reads it
        part=lambda np, x, axes, first: (x.sum(axis=axes), _count(np, x, axes)),
        merge=lambda np, a, b: (a[0] + b[0], a[1] + b[1]),
        finish=lambda parts: parts[0] / parts[1],
    ),
    Reduction(
        "last",  # what a recurrence is at when it ends
        part=lambda np, x, axes, first: (_last(np, x, axes),),
        merge=lambda np, a, b: b,
        finish=lambda parts: parts[0],
        vector_ops=0,
        picks=True,
    ),
    Reduction(
        "argmax",  # compare, and select the index
        part=lambda np, x, axes, first: (x.max(axis=axes), x.argmax(axis=axes[0]) + first),
        merge=_first_greatest,
        finish=lambda parts: parts[1],
        vector_ops=2,
        index=True,
    ),
)
REDUCTIONS: Mapping[str, Reduction] = {reduction.name: reduction for reduction in _REDUCTIONS}

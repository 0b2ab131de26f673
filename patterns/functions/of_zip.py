"""The functions of a zip: several arrays that broadcast by the names of their dims.

What is masked is -inf, and a row of which all is masked gives zeros, by two rules for cases that are no number
elsewhere: -inf minus -inf is -inf (what is masked stays so, whatever it is compared with), and 0 divided by 0 is 0 (a
share of nothing). Softmax of such a row, in whatever parts and however merged, is then 0 everywhere. A finite mask is a
number like any other: a row that has it everywhere gives the mean.
"""

from __future__ import annotations

from math import inf
from typing import Any

from patterns.functions.function import Function, named

# What a mask writes over a score.
MASKED = -inf


def subtract(np: Any, x: Any, y: Any) -> Any:
    """x - y; -inf where both are -inf."""
    with np.errstate(invalid="ignore"):
        difference = x - y
    masked = (x == MASKED) & (y == MASKED)
    return np.where(masked, MASKED, difference) if np.any(masked) else difference


def divide(np: Any, x: Any, y: Any) -> Any:
    """x / y; 0 where both are 0."""
    nothing = (x == 0) & (y == 0)
    if not np.any(nothing):
        return x / y
    with np.errstate(invalid="ignore"):
        return np.where(nothing, 0.0, x / y)


def _causal(np: Any, score: Any, query_position: Any, key_position: Any) -> Any:
    return np.where(key_position <= query_position, score, MASKED)


def _sliding_window(np: Any, score: Any, query_position: Any, key_position: Any, window: int) -> Any:
    seen = (key_position <= query_position) & (key_position > query_position - window)
    return np.where(seen, score, MASKED)


ZIP = named(
    Function("add", 2, lambda np, x, y: x + y, 1, affine=True),
    Function("sub", 2, subtract, 1, affine=True),
    Function("mul", 2, lambda np, x, y: x * y, 1, affine=True),
    Function("div", 2, divide, 1, 1),
    Function("max", 2, lambda np, x, y: np.maximum(x, y), 1),
    Function("min", 2, lambda np, x, y: np.minimum(x, y), 1),
    # 1 where both are the same: of an index and positions, a row with one 1 (one-hot).
    Function("equal", 2, lambda np, x, y: (x == y) * 1.0, 1),
    # 1 where the first is less, or where it is not.
    Function("less", 2, lambda np, x, y: (x < y) * 1.0, 1),
    Function("not_less", 2, lambda np, x, y: (x >= y) * 1.0, 1),
    # The second where the first is true, the third where it is not: 0 is false.
    Function("where", 3, lambda np, c, x, y: np.where(c != 0, x, y), 1),
    # (score, position of the query, position of the key): keys after the query are masked.
    Function("causal", 3, _causal, 2, keeps="not_after"),
    # The same, and keys that are `window` or more before the query are masked too: a token sees itself and the
    # window - 1 before it.
    Function("sliding_window", 3, _sliding_window, 4, arguments=("window",), keeps="window"),
)

"""The functions of a zip: several arrays that broadcast by the names of their dims."""

from __future__ import annotations

from typing import Any

from patterns.function import Function, named

# What a mask writes over a score: far below any score, and finite, so that a wholly masked row is no NaN.
MASKED = -1e30


def _causal(np: Any, score: Any, query_position: Any, key_position: Any) -> Any:
    return np.where(key_position <= query_position, score, MASKED)


def _sliding_window(np: Any, score: Any, query_position: Any, key_position: Any, window: int) -> Any:
    seen = (key_position <= query_position) & (key_position > query_position - window)
    return np.where(seen, score, MASKED)


ZIP = named(
    Function("add", 2, lambda np, x, y: x + y, 1, affine=True),
    Function("sub", 2, lambda np, x, y: x - y, 1, affine=True),
    Function("mul", 2, lambda np, x, y: x * y, 1, affine=True),
    Function("div", 2, lambda np, x, y: x / y, 1, 1),
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

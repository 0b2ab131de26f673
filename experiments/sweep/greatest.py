"""The greatest size that fits, in few trials: what is held mostly is a straight line by a size; two points tell it."""

from __future__ import annotations

from collections.abc import Callable

# Sizes that are tried below the one that should fit: not every one can be had.
SHRUNK = 4


def greatest(
    fits: Callable[[int], bool], bytes_of: Callable[[int], int | None], value: int, available: int
) -> int | None:
    """The greatest size below `value`, which does not fit, that does; None where there is none.

    bytes_of: what is held with a size; None where it cannot be had. available: about as many bytes there are.
    """
    if value < 2 or not fits(1):
        return None
    guess = _guess(bytes_of(1), bytes_of(value), value, available)
    low = next((size for size in range(guess, max(1, guess - SHRUNK), -1) if fits(size)), 1)
    if (low > 1 or guess == 1) and not (low + 1 < value and fits(low + 1)):
        return low
    high = value
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _guess(least: int | None, most: int | None, value: int, available: int) -> int:
    """The size at which a straight line through the least and the value reaches what there is."""
    if least is None or most is None or not least <= available < most:
        return value // 2
    return min(value - 1, 1 + (available - least) * (value - 1) // (most - least))

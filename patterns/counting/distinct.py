"""How many different rows of a table lookups find: expected when they are drawn, or as a graph says."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

# Longer fractions than this are taken to so many digits instead: no element of any table depends on the rest.
_LONGEST_BITS, _DIGITS = 2**14, 80


@lru_cache(maxsize=256)
def expected_distinct(rows: int, together: int, draws: int) -> Fraction:
    """Expected number of different rows of `rows` in `draws` draws of `together` rows each.

    The rows of a draw differ, all sets of so many are equally likely, and draws do not depend on each other: a row is
    missed by one with probability 1 - together / rows. 0 < together <= rows.
    """
    if draws * rows.bit_length() <= _LONGEST_BITS:
        return rows * (1 - Fraction(rows - together, rows) ** draws)
    with localcontext() as context:
        context.prec = _DIGITS
        missed = Decimal(rows - together) / Decimal(rows)
        return rows * (1 - Fraction(missed**draws))


def rounded(value: Fraction) -> int:
    """The nearest whole number, the greater of two."""
    return int((2 * value + 1) // 2)


def shown(value: Fraction) -> str:
    """A number of rows for people: exact where four decimals are."""
    return f"{float(value):,.4f}".rstrip("0").rstrip(".")

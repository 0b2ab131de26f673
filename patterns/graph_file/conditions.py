"""Conditions on extents: `fft >= 2 * seq`, two expressions and a comparison between them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from patterns.expression import Expression, ExpressionError, parse, value_of

_COMPARISONS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_SIGN = re.compile("|".join(_COMPARISONS))


def broken(text: str, sizes: Mapping[str, int]) -> str:
    """What is wrong with the extents, '' if they meet the condition. Raises ExpressionError if the text is none."""
    sign, left, right = _sides(text)
    found = [value_of(side, sizes) for side in (left, right)]
    if _COMPARISONS[sign](*found):
        return ""
    values = [
        f"{side.text.strip()} is {_number(value)}"
        for side, value in zip((left, right), found, strict=True)
        if side.names
    ]
    return f"requires {text.strip()}, and {' and '.join(values)}"


def names_of(text: str) -> tuple[str, ...]:
    """The extents that a condition compares. Raises ExpressionError if the text is none."""
    _, *sides = _sides(text)
    return tuple(dict.fromkeys(name for side in sides for name, _ in side.names))


def _sides(text: str) -> tuple[str, Expression, Expression]:
    signs = list(_SIGN.finditer(text))
    if len(signs) != 1:
        raise ExpressionError(f"a condition compares two expressions with one of {', '.join(_COMPARISONS)}")
    begin, end = signs[0].span()
    # The right side keeps its place in the text, so that a mistake in it is pointed at.
    return signs[0].group(), parse(text[:begin]), parse(" " * end + text[end:])


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"

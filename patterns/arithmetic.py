"""What expressions can compute: operators and functions on exact numbers, and how many arguments each takes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log2


@dataclass(frozen=True)
class Function:
    """A function of exact numbers, of `least` to `most` arguments."""

    compute: Callable[..., Fraction]
    least: int
    most: int


def _divided(left: Fraction, right: Fraction) -> Fraction:
    return left / right


def _log2(value: Fraction) -> Fraction:
    if value <= 0:
        raise ArithmeticError(f"log2 of {value}")
    if value.denominator != 1:
        return Fraction(log2(value))
    below = Fraction(value.numerator.bit_length() - 1)
    if 2**below == value:
        return below
    # A float may round up to the next whole number; ceil and floor of the result must not notice.
    margin = Fraction(1, 2**40)
    return min(max(Fraction(log2(value.numerator)), below + margin), below + 1 - margin)


def _ceildiv(left: Fraction, right: Fraction) -> Fraction:
    return Fraction(-(-left // right))


def _align(value: Fraction, step: Fraction) -> Fraction:
    return _ceildiv(value, step) * step


def _floor(value: Fraction) -> Fraction:
    return Fraction(floor(value))


def _ceil(value: Fraction) -> Fraction:
    return Fraction(ceil(value))


_ANY = 1000
FUNCTIONS: Mapping[str, Function] = {
    "min": Function(min, 1, _ANY),
    "max": Function(max, 1, _ANY),
    "ceil": Function(_ceil, 1, 1),
    "floor": Function(_floor, 1, 1),
    "ceildiv": Function(_ceildiv, 2, 2),
    "log2": Function(_log2, 1, 1),
    "align": Function(_align, 2, 2),
}
OPERATORS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divided,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}

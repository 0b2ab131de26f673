"""What an unquoted word of YAML means: the YAML 1.2 core rules, which are few and have no surprises.

`1e5` is a number, `010` is ten, `0o17` is fifteen; `no`, `on`, `2:4`, `0777_` and dates are text.
"""

from __future__ import annotations

import re

Scalar = None | bool | int | float | str

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = re.compile(r"\.(?:nan|NaN|NAN)")

# Every scalar that is not text begins with one of these; most are text.
_FIRST = frozenset("0123456789+-.~nNtTfF")
# Python converts at most 4,300 digits; nothing here needs as many.
LONGEST_NUMBER = 400


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar. Raises ValueError for a number that is too long or too large to hold."""
    if text and text[0] not in _FIRST:
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text[0] in "tT"
    if infinite := _INFINITE.fullmatch(text):
        return float(f"{infinite[1]}inf")
    if _NAN.fullmatch(text):
        return float("nan")
    return _number(text)


def _number(text: str) -> int | float | str:
    reading = next((read for rule, read in _READINGS if rule.fullmatch(text)), None)
    if reading is None:
        return text
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text):,} characters; at most {LONGEST_NUMBER} are read")
    value = reading(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text} is too large to hold")
    return value


def _octal(text: str) -> int:
    return int(text[2:], 8)


def _hex(text: str) -> int:
    return int(text[2:], 16)


_READINGS = ((_INT, int), (_OCTAL, _octal), (_HEX, _hex), (_FLOAT, float))

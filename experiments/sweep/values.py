"""What a field of a sweep takes on: one value, a list, or a series: `{pow2: [1024, 131072]}`.

range: [first, last] or [first, last, step], the last included where a step meets it. linspace and logspace: [first,
last, count], evenly spaced by difference or by ratio, both ends included. pow2: [first, last], doubled each time. Of
whole ends all values are whole, each once; ends may have a unit, the same one (`[2 TB/s, 8 TB/s, 7]`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from patterns.errors import did_you_mean
from patterns.units import exact

Value = int | float | str
MOST_VALUES = 100_000
_QUANTITY = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]{1,3})?)\s*([^\s0-9.].*)?", re.ASCII)


def value_of(value: object) -> Value:
    """One value: a number, or text. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"a number or text is due, found {_shown(value)}")
    if isinstance(value, float) and value - value != 0:
        raise ValueError(f"a finite number is due, found {value}")
    return value


def values_of(value: object) -> tuple[Value, ...]:
    """All values that are written, in order. Raises ValueError, which says what would be right."""
    if isinstance(value, dict):
        return _series(value)
    found = tuple(value_of(one) for one in value) if isinstance(value, list) else (value_of(value),)
    if not found:
        raise ValueError("empty; at least one value is due")
    return found


def _series(given: Mapping[Any, Any]) -> tuple[Value, ...]:
    """The values of `{range: ...}` and the like."""
    if len(given) != 1:
        raise ValueError(f"one of {', '.join(SERIES)} is due, found {_shown(given)}")
    ((name, ends),) = given.items()
    if name not in SERIES:
        raise ValueError(f"unknown series {name!r}{did_you_mean(str(name), SERIES)}; there is: {', '.join(SERIES)}")
    due, make = SERIES[name]
    if not isinstance(ends, list) or len(ends) not in {len(form) for form in due}:
        forms = " or ".join(f"[{', '.join(form)}]" for form in due)
        raise ValueError(f"{name}: {forms} is due, found {_shown(ends)}")
    numbers, unit = _numbers(name, ends)
    try:
        return _made(make(*numbers), ends, unit, name)
    except OverflowError:
        raise ValueError(f"{name}: from {_shown(ends[0])} to {_shown(ends[1])} is more than a number holds") from None


def _made(found: Sequence[Fraction], ends: Sequence[object], unit: str, name: str) -> tuple[Value, ...]:
    """The values of a series. Raises ValueError where there are none, OverflowError for what no number holds."""
    if not found:
        raise ValueError(f"{name}: there is nothing from {ends[0]} to {ends[1]}")
    whole = all(isinstance(end, int) for end in ends[:2]) or (bool(unit) and all(n.denominator == 1 for n in found))
    return _written(found, unit, whole=whole)


def _numbers(name: str, ends: Sequence[object]) -> tuple[list[Fraction], str]:
    """The numbers of a series, and the unit of its ends."""
    numbers, units = [], []
    for position, end in enumerate(ends):
        found = _QUANTITY.fullmatch(end.strip()) if isinstance(end, str) and len(end) < 100 else None
        if found is None and (isinstance(end, str | bool) or not isinstance(end, int | float)):
            raise ValueError(f"{name}: a number is due, found {_shown(end)}")
        numbers.append(Fraction(found[1]) if found else exact(value_of(end)))  # type: ignore[arg-type]
        if position < 2 or (found and found[2]):
            units.append((found[2] or "") if found else "")
    if len(set(units)) > 1:
        raise ValueError(f"{name}: both ends have the same unit, found {' and '.join(repr(unit) for unit in units)}")
    return numbers, units[0]


def _written(numbers: Sequence[Fraction], unit: str, *, whole: bool) -> tuple[Value, ...]:
    """Numbers as a file would have them; of whole ones each once."""
    if whole:
        rounded = dict.fromkeys(int(number + Fraction(1, 2)) for number in numbers)
        return tuple(f"{number} {unit}" if unit else number for number in rounded)
    return tuple(f"{float(number):.12g} {unit}" if unit else float(number) for number in numbers)


def _range(first: Fraction, last: Fraction, step: Fraction = Fraction(1)) -> list[Fraction]:
    if step == 0 or (last - first) / step < 0:
        return []
    return [first + number * step for number in range(_few((last - first) // step + 1))]


def _linspace(first: Fraction, last: Fraction, count: Fraction) -> list[Fraction]:
    many = _count(count)
    return [first + (last - first) * number / max(1, many - 1) for number in range(many)]


def _logspace(first: Fraction, last: Fraction, count: Fraction) -> list[Fraction]:
    if first <= 0 or last <= 0:
        raise ValueError("logspace: both ends are greater than 0")
    many = _count(count)
    inner = [first * exact(float(last / first) ** (number / (many - 1))) for number in range(1, many - 1)]
    return [first, *inner, last][:many]


def _pow2(first: Fraction, last: Fraction) -> list[Fraction]:
    if first <= 0:
        raise ValueError("pow2: both ends are greater than 0")
    found = [first]
    while found[-1] * 2 <= last:
        found.append(found[-1] * 2)
    return found if first <= last else []


def _count(count: Fraction) -> int:
    if count.denominator != 1 or count < 1:
        raise ValueError(f"a count is a whole number greater than 0, found {float(count):g}")
    return _few(count.numerator)


def _few(count: int) -> int:
    if count > MOST_VALUES:
        raise ValueError(f"{count:,} values; at most {MOST_VALUES:,} are read")
    return count


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# By name: the forms of what it is given, and what makes its values.
SERIES: Mapping[str, tuple[tuple[tuple[str, ...], ...], Callable[..., list[Fraction]]]] = {
    "range": ((("first", "last"), ("first", "last", "step")), _range),
    "linspace": ((("first", "last", "count"),), _linspace),
    "logspace": ((("first", "last", "count"),), _logspace),
    "pow2": ((("first", "last"),), _pow2),
}

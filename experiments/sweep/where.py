"""The filter of a sweep: `batch * context <= 1048576 and machine != "b200"`, evaluated safely, never by `eval`.

Comparisons == != < <= > >= in, not in, joined by and, or, not. What is compared is text, a list, or arithmetic as of
extents (patterns/expression.py). A machine's parameter counts in its base unit: `gpu.hbm_bytes_per_s >= 3e12`.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from patterns.errors import UserError, did_you_mean
from patterns.expression import LONGEST_TEXT, ExpressionError, parse, value_of
from patterns.units import dimension_of, exact, parse_quantity

Given = Mapping[str, int | float | str | None]
Compared = Fraction | str | tuple[Fraction | str, ...]
_DOTTED = re.compile(r"\b([A-Za-z_]\w*)\.(?=[A-Za-z_])", re.ASCII)
_ALLOWED = "a filter compares (== != < <= > >= in), joined by and, or, not"
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True)
class Filter:
    """A parsed filter. text: with an underscore for the dot of a name. place: where its file has it."""

    text: str
    root: ast.expr
    place: str = ""

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The names that it reads."""
        return frozenset(name for name, _ in self.names())

    def names(self) -> Iterator[tuple[str, int]]:
        """Every name that it reads, dots as underscores, with where it is."""
        for node in ast.walk(self.root):
            if isinstance(node, ast.Name):
                yield node.id, node.col_offset


def plain_name(name: str) -> str:
    """A dotted name as a filter has it."""
    return name.replace(".", "_")


def parse_filter(text: str) -> Filter:
    """The filter in a text. Raises ExpressionError."""
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(f"a filter of {len(text):,} characters; at most {LONGEST_TEXT} are read")
    if not text.isascii():
        raise ExpressionError("a filter is of plain characters")
    flat = _DOTTED.sub(r"\1_", text.replace("\n", " "))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root = ast.parse(f"({flat})", mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"{text!r} is no filter; {_ALLOWED}", max(0, (error.offset or 2) - 2)) from None
    except (RecursionError, MemoryError, ValueError):
        raise ExpressionError("nested too deeply to read") from None
    found = Filter(f"({flat})", root)
    _check(found, root)
    return found


def _check(found: Filter, node: ast.expr) -> None:
    """Raises ExpressionError for what no filter may say."""
    match node:
        case ast.BoolOp(values=values):
            for below in values:
                _check(found, below)
        case ast.UnaryOp(op=ast.Not(), operand=below):
            _check(found, below)
        case ast.Compare(left=left, comparators=comparators):
            for side in (left, *comparators):
                _check_side(found, side)
        case _:
            raise ExpressionError(_ALLOWED, max(0, node.col_offset - 1))


def _check_side(found: Filter, node: ast.expr) -> None:
    if isinstance(node, ast.List | ast.Tuple):
        for below in node.elts:
            _check_side(found, below)
    elif not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        _arithmetic(found, node)


def _arithmetic(found: Filter, node: ast.expr) -> Any:
    """A side that is arithmetic, parsed. Raises ExpressionError with its place in the filter."""
    try:
        return parse(" " * node.col_offset + found.text[node.col_offset : node.end_col_offset])
    except ExpressionError as error:
        raise ExpressionError(str(error), max(0, error.offset - 1)) from None


def need_names(found: Filter, known: Mapping[str, object]) -> None:
    """Raises ExpressionError for a name that no point has."""
    for name, offset in found.names():
        if name not in known and not _is_function(found, offset):
            hint = did_you_mean(name, known)
            raise ExpressionError(f"no field {name!r} is in this sweep{hint}; there is: {', '.join(known)}", offset - 1)


def _is_function(found: Filter, offset: int) -> bool:
    """Whether the name at a place is called: arithmetic has checked that it is a function."""
    calls = (node.func for node in ast.walk(found.root) if isinstance(node, ast.Call))
    return any(isinstance(func, ast.Name) and func.col_offset == offset for func in calls)


def holds(found: Filter, given: Given) -> bool:
    """Whether a point passes. given: its fields, dots as underscores; None of what it leaves to the model.

    Raises ExpressionError where text is ordered with a number, a division by zero ....
    """
    return _truth(found, found.root, given)


def _truth(found: Filter, node: ast.expr, given: Given) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_truth(found, below, given) for below in values)
        case ast.BoolOp(values=values):
            return any(_truth(found, below, given) for below in values)
        case ast.UnaryOp(operand=below):
            return not _truth(found, below, given)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [_side(found, side, given) for side in (left, *comparators)]
            return all(_compared(op, sides[i], sides[i + 1], node) for i, op in enumerate(ops))
    raise AssertionError(f"{ast.dump(node)} passed the whitelist")


def _compared(op: ast.cmpop, left: Compared, right: Compared, node: ast.expr) -> bool:
    try:
        return _COMPARISONS[type(op)](left, right)
    except TypeError:
        what = "text and a number have no order" if isinstance(op, _ORDERED) else "`in` is followed by a list"
        raise ExpressionError(what, max(0, node.col_offset - 1)) from None


def _side(found: Filter, node: ast.expr, given: Given) -> Compared:
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_side(found, below, given) for below in node.elts)  # type: ignore[misc]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return _number(node.id, given[node.id])
    pairs = ((name, _number(name, given[name])) for name in found.wanted & given.keys())
    numbers = {name: value for name, value in pairs if isinstance(value, Fraction)}
    return value_of(_arithmetic(found, node), numbers)  # type: ignore[arg-type]


@lru_cache(maxsize=4096)
def _number(name: str, value: int | float | str | None) -> Fraction | str:
    """A value as what is compared: text of a quantity is its number in the base unit."""
    if isinstance(value, str):
        try:
            return exact(parse_quantity(value, dimension_of(name)))
        except UserError:
            return value
    return "" if value is None else exact(value)

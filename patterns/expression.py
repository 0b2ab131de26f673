"""Safe integer arithmetic on named extents: `hidden // heads`, `ceildiv(context, 128) * 128`.

A whitelist over Python's syntax tree, evaluated exactly (fractions, never floats); no `eval`. Operators + - * / // %
and ** with a literal exponent from 0 to 8; functions min, max, ceil, floor, ceildiv, log2, align.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from patterns.arithmetic import FUNCTIONS, OPERATORS
from patterns.errors import UserError, did_you_mean
from patterns.order import chain_text, in_order
from patterns.units import exact

LONGEST_TEXT = 500
DEEPEST = 100
LARGEST_EXPONENT = 8
LARGEST_BITS = 512

_SUGGESTIONS = 20
_WORD = re.compile(r"\b[A-Za-z_]\w*", re.ASCII)

_ALLOWED = "allowed are + - * / // % ** ( ) and min, max, ceil, floor, ceildiv, log2, align"


class ExpressionError(UserError):
    """An expression cannot be evaluated; `offset` counts characters from its start."""

    def __init__(self, message: str, offset: int = 0) -> None:
        self.offset = offset
        super().__init__(message)


@dataclass(frozen=True)
class WrongExtent:
    """One mistake among extents: whose, how many characters into its text, and what would be right."""

    name: str
    offset: int
    message: str


class ExtentsError(UserError):
    """Extents cannot be resolved: every mistake, and the extents that have a value all the same."""

    def __init__(self, mistakes: list[WrongExtent], resolved: dict[str, int]) -> None:
        self.mistakes = tuple(mistakes)
        self.resolved = resolved
        super().__init__("\n".join(f"{mistake.name}: {mistake.message}" for mistake in mistakes))


@dataclass(frozen=True)
class Expression:
    """A parsed text. names: what it refers to, each once, with the offset of its first use."""

    text: str
    root: ast.expr
    indent: int
    names: tuple[tuple[str, int], ...]


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """The expression in a text. Raises ExpressionError."""
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(f"an expression of {len(text):,} characters; at most {LONGEST_TEXT} are read")
    indent = _indent(text)
    if not text.isascii():
        offset = next(i for i, letter in enumerate(text) if not letter.isascii())
        raise ExpressionError(f"{text[offset]!r} is not part of arithmetic; {_ALLOWED}", offset)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        # Python's own words differ from release to release.
        raise ExpressionError(
            f"{_shortened(text)!r} is not arithmetic; {_ALLOWED}", indent + (error.offset or 1) - 1
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise ExpressionError("nested too deeply to read") from None
    names: dict[str, int] = {}
    _check(root, text, names, 0)
    return Expression(text, root, indent, tuple(names.items()))


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _check(node: ast.expr, text: str, names: dict[str, int], depth: int) -> None:
    offset = _indent(text) + node.col_offset
    if depth > DEEPEST:
        raise ExpressionError(f"nested deeper than {DEEPEST} levels", offset)
    for below in _children(node, text, offset):
        _check(below, text, names, depth + 1)
    if isinstance(node, ast.Name):
        names.setdefault(node.id, offset)


def _children(node: ast.expr, text: str, offset: int) -> list[ast.expr]:
    """Operands of a node. Raises ExpressionError for what is not in the whitelist."""
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return []
        case ast.Name():
            return []
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return [operand]
        case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=int(power))):
            if 0 <= power <= LARGEST_EXPONENT:
                return [left]
        case ast.BinOp(op=op, left=left, right=right) if type(op) in OPERATORS:
            return [left, right]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            function = FUNCTIONS[name]
            if function.least <= len(args) <= function.most:
                return args
            due = f"{function.least} argument{'s' * (function.least > 1)}"
            raise ExpressionError(f"{name} takes {due}, found {len(args)}", offset)
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
            nearest = did_you_mean(name, FUNCTIONS)
            raise ExpressionError(f"no function {name!r}{nearest}; there is: {', '.join(FUNCTIONS)}", offset)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        raise ExpressionError(f"an exponent is a number from 0 to {LARGEST_EXPONENT}, written out", offset)
    written = text[offset : _indent(text) + (node.end_col_offset or 0)]
    raise ExpressionError(f"{_shortened(written)!r} is not allowed here; {_ALLOWED}", offset)


def words_in(text: str) -> list[str]:
    """Every word of a text, names and others."""
    return _WORD.findall(text)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text in which names stand for others; words that are no names of these stay."""
    return _WORD.sub(lambda word: names.get(word.group(), word.group()), text)


def value_of(expression: Expression, values: Mapping[str, int]) -> Fraction:
    """The exact value. Raises ExpressionError for an unknown name, a division by zero, a value beyond 2**512."""
    return _value(expression.root, values, expression.indent)


def _value(node: ast.expr, values: Mapping[str, int], indent: int) -> Fraction:
    offset = indent + node.col_offset
    try:
        found = _computed(node, values, indent)
    except ZeroDivisionError:
        raise ExpressionError("division by zero", offset) from None
    except ArithmeticError as error:
        raise ExpressionError(f"no such number: {error}", offset) from None
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > LARGEST_BITS:
        raise ExpressionError(f"a number beyond 2**{LARGEST_BITS}", offset)
    return found


def _computed(node: ast.expr, values: Mapping[str, int], indent: int) -> Fraction:
    match node:
        case ast.Constant(value=int(number) | float(number)):
            return _constant(number)
        case ast.Name(id=name):
            if name not in values:
                nearest = did_you_mean(name, values)
                raise ExpressionError(f"unknown name {name!r}{nearest}", indent + node.col_offset)
            return Fraction(values[name])
        case ast.UnaryOp(operand=operand):
            return -_value(operand, values, indent)
        case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=int(power))):
            return _value(left, values, indent) ** power
        case ast.BinOp(op=op, left=left, right=right):
            return Fraction(OPERATORS[type(op)](_value(left, values, indent), _value(right, values, indent)))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name].compute(*(_value(below, values, indent) for below in args))
    raise AssertionError(f"{ast.dump(node)} passed the whitelist")


def _constant(number: float) -> Fraction:
    if number == float("inf"):
        raise OverflowError("too large")
    return exact(number)


def evaluate(text: str, values: Mapping[str, int]) -> int:
    """The whole number that a text gives with these values. Raises ExpressionError."""
    return _whole(parse(text), values)


def _whole(expression: Expression, values: Mapping[str, int]) -> int:
    found = value_of(expression, values)
    if found.denominator != 1:
        shown = f"{float(found):g}" if abs(found) < Fraction(10) ** 300 else "a fraction"
        raise ExpressionError(f"{_shortened(expression.text)!r} is {shown}, not a whole number; use // or ceildiv")
    return found.numerator


def resolve(extents: Mapping[str, int | str]) -> dict[str, int]:
    """Every extent as a number greater than 0, in the order given; text is an expression of other extents.

    Raises ExtentsError with every mistake: arithmetic, unknown names, cycles, values that are not whole or not > 0.
    """
    mistakes: list[WrongExtent] = []
    parsed: dict[str, Expression] = {}
    for name, given in extents.items():
        try:
            parsed[name] = parse(str(given))
        except ExpressionError as error:
            mistakes.append(WrongExtent(name, error.offset, str(error)))
    needs = {name: [needed for needed, _ in expression.names] for name, expression in parsed.items()}
    order, cycles = in_order(needs)
    for cycle in cycles:
        offset = dict(parsed[cycle[0]].names)[cycle[1 % len(cycle)]]
        mistakes.append(WrongExtent(cycle[0], offset, f"refers to itself: {chain_text(cycle)}"))
    values: dict[str, int] = {}
    for name in order:
        _resolve_one(name, parsed[name], extents, values, mistakes)
    resolved = {name: values[name] for name in extents if name in values}
    if mistakes:
        raise ExtentsError(mistakes, resolved)
    return resolved


def _resolve_one(
    name: str,
    expression: Expression,
    extents: Mapping[str, int | str],
    values: dict[str, int],
    mistakes: list[WrongExtent],
) -> None:
    unknown = [(used, offset) for used, offset in expression.names if used not in extents]
    for used, offset in unknown:
        nearest = did_you_mean(used, extents) if len(mistakes) < _SUGGESTIONS else ""
        mistakes.append(WrongExtent(name, offset, f"unknown extent {used!r}{nearest}"))
    if any(used not in values for used, _ in expression.names):
        return
    try:
        value = _whole(expression, values)
    except ExpressionError as error:
        mistakes.append(WrongExtent(name, error.offset, str(error)))
        return
    if value > 0:
        values[name] = value
    else:
        mistakes.append(WrongExtent(name, 0, f"an extent is greater than 0, found {value}"))

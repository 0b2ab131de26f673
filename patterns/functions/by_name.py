"""The functions of map, zip and reduce by name."""

from __future__ import annotations

from collections.abc import Mapping

from patterns.errors import UnknownName
from patterns.functions.function import Function, Reduction
from patterns.functions.of_map import MAP
from patterns.functions.of_reduce import REDUCTIONS
from patterns.functions.of_zip import ZIP

FUNCTIONS: Mapping[str, Mapping[str, Function]] = {"map": MAP, "zip": ZIP}


def function(kind: str, name: str) -> Function:
    """The scalar function `name` of a `map` or a `zip`. Raises UnknownName."""
    if name not in FUNCTIONS[kind]:
        raise UnknownName(f"{kind} function", name, FUNCTIONS[kind])
    return FUNCTIONS[kind][name]


def reduction(name: str) -> Reduction:
    """The reduction `name`. Raises UnknownName."""
    if name not in REDUCTIONS:
        raise UnknownName("reduce function", name, REDUCTIONS)
    return REDUCTIONS[name]

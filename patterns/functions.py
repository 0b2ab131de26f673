"""The functions of map, zip and reduce by name."""

from __future__ import annotations

from collections.abc import Mapping

from patterns.errors import UnknownName
from patterns.function import Function, Reduction
from patterns.map_functions import MAP
from patterns.reductions import REDUCTIONS
from patterns.zip_functions import ZIP

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

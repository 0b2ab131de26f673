"""Classes of kernels by their names. The patterns are data, in classes.yaml, each with a name that it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from patterns.load import load_file, validate

Sort = Literal["compute", "copy", "communication"]
OTHER = "other"
STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)


class _ClassSpec(BaseModel):
    model_config = STRICT
    name: str
    sort: Sort
    drawn: str


class _PatternSpec(BaseModel):
    model_config = STRICT
    class_name: str = Field(alias="class")
    pattern: str
    example: str


class _TableSpec(BaseModel):
    model_config = STRICT
    classes: list[_ClassSpec]
    patterns: list[_PatternSpec]


@dataclass(frozen=True)
class Pattern:
    """What names of a class look like, and one of them."""

    class_name: str
    pattern: re.Pattern[str]
    example: str


@cache
def _table() -> _TableSpec:
    return validate(_TableSpec, load_file(files("experiments.profile").joinpath("classes.yaml")))


@cache
def patterns() -> tuple[Pattern, ...]:
    """The patterns in the order in which they are tried."""
    return tuple(
        Pattern(one.class_name, re.compile(one.pattern, re.IGNORECASE), one.example) for one in _table().patterns
    )


@cache
def sorts() -> Mapping[str, Sort]:
    """Every class, in order, and what it keeps busy."""
    return {one.name: one.sort for one in _table().classes}


@cache
def drawn_as() -> Mapping[str, str]:
    """Every class, and the unit class in whose colour it is drawn."""
    return {one.name: one.drawn for one in _table().classes}


@lru_cache(maxsize=65536)
def class_of(name: str) -> str:
    """The class of a kernel."""
    return next((one.class_name for one in patterns() if one.pattern.search(name)), OTHER)

"""A Program: roles that exchange tiles through bounded channels and share units. Both machines lower to it.

It is data: printed by listing.py, run by simulate.py, hashed and compared like any tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from patterns.pipeline.hashed import hashed_once
from patterns.pipeline.script import Op

UnitClass = Literal["matrix", "vector", "special", "memory", "network", "issue", "sync", "launch"]
UNIT_CLASSES: tuple[UnitClass, ...] = get_args(UnitClass)


@dataclass(frozen=True)
class Unit:
    """`lanes` equal servers; requests are taken earliest first."""

    name: str
    unit_class: UnitClass
    lanes: int = 1


@dataclass(frozen=True)
class Channel:
    """A bounded buffer of `slots` tiles. Tile n is acquired once every reader released tile n - slots.

    readers: each sees every tile; roles that name the same reader take tiles in turn. slot_bytes: a slot is full when
    so many bytes arrived in it (0: by one fill).
    """

    name: str
    slots: int
    readers: int = 1
    slot_bytes: int = 0


@dataclass(frozen=True)
class Barrier:
    """A counter of arrivals; each role that awaits it has its own count of those it took."""

    name: str


@dataclass(frozen=True)
class Role:
    """A warp, a warpgroup, a PCU group, an AGCU stream, a host thread: one script."""

    name: str
    script: tuple[Op, ...]


@hashed_once
@dataclass(frozen=True)
class Program:
    """Units, channels, barriers and roles; ends when all roles did and nothing is in flight."""

    name: str
    units: tuple[Unit, ...]
    channels: tuple[Channel, ...]
    roles: tuple[Role, ...]
    barriers: tuple[Barrier, ...] = ()

    @cached_property
    def unit_named(self) -> Mapping[str, Unit]:
        """Unit by name."""
        return {unit.name: unit for unit in self.units}

    @cached_property
    def content(self) -> Program:
        """The Program without its name: all that a run of it depends on."""
        return replace(self, name="") if self.name else self

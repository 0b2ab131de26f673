"""What a loader is: a file in loaders/ that brings operands into shared memory. The file's name is the loader's."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal, Protocol, cast

from gpu_model.machine import Machine
from patterns.errors import UnknownName, UserError
from patterns.plugin import load_module, modules

LOADERS = "gpu_model.loaders"
Level = Literal["registers", "l1", "smem"]


class Loader(Protocol):
    """NEEDS: features of the machine. THROUGH: the levels of an SM that its bytes pass, in order.

    ANYWHERE: whether each 16 bytes can go to a place of their own in shared memory, not only as dense boxes.
    A file with MULTICAST = True has loads that fill slots of several CTAs of a cluster.
    """

    NEEDS: tuple[str, ...]
    THROUGH: tuple[Level, ...]
    ANYWHERE: bool

    def issue_cycles(self, machine: Machine, num_bytes: int) -> int:
        """What the issuing warp pays for starting a load of so many bytes."""

    def instructions(self, machine: Machine, num_bytes: int) -> int:
        """Warp instructions that a load of so many bytes takes."""


def loader_names() -> tuple[str, ...]:
    """Every loader there is, sorted."""
    return modules(LOADERS)


@cache
def loader_named(name: str) -> Loader:
    """The loader `name`. Raises UnknownName."""
    return cast(Loader, load_module(LOADERS, name, "loader"))


@lru_cache(maxsize=256)
def loaders_there(known: tuple[str, ...], machine: Machine) -> tuple[str, ...]:
    """Of some loaders, those that the machine has the features for."""
    return tuple(name for name in known if set(loader_named(name).NEEDS) <= set(machine.features))


@cache
def is_staged(name: str) -> bool:
    """Whether the loading warps hold what they load in registers and write it to shared memory themselves."""
    return "registers" in loader_named(name).THROUGH


def is_multicast(name: str) -> bool:
    """Whether one load can fill slots of several CTAs of a cluster."""
    return bool(getattr(loader_named(name), "MULTICAST", False))


def usable_loaders(schedule: str, known: tuple[str, ...], asked: str | None, machine: Machine) -> tuple[str, ...]:
    """Of the loaders that a schedule knows, those that the machine has; only the one asked for, if one is.

    Raises UnknownName, and UserError where the machine lacks what is needed.
    """
    if asked is not None and asked not in known:
        raise UnknownName(f"loader of {schedule}", asked, known)
    usable = loaders_there(known, machine)
    wanted = (asked,) if asked is not None else known
    found = tuple(name for name in wanted if name in usable)
    if not found:
        help_text = f"; {usable[0]} would work" if usable else ""
        raise UserError(f"{machine.name} has no {' and no '.join(wanted)} for {schedule}{help_text}")
    return found

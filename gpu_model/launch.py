"""What a way to launch is: a file in launches/ with these names. The file's name is the mode's."""

from __future__ import annotations

from typing import Protocol, cast

from gpu_model.machine import Machine
from patterns.errors import UserError
from patterns.plan import LaunchCost
from patterns.plugin import load_module, modules

LAUNCHES = "gpu_model.launches"


class LaunchMode(Protocol):
    """NEEDS: features of the machine that it cannot do without."""

    NEEDS: tuple[str, ...]

    def cost(self, machine: Machine) -> LaunchCost:
        """What starting kernels costs, on the host and on the device."""

    def inside(self, machine: Machine) -> Machine:
        """The machine as a kernel that is started so sees it: what its own start and end still cost."""


def launch_names() -> tuple[str, ...]:
    """Ways to launch."""
    return modules(LAUNCHES)


def launch_named(name: str, machine: Machine) -> LaunchMode:
    """The way to launch called `name`. Raises UnknownName, and UserError where the machine lacks a feature."""
    mode = cast(LaunchMode, load_module(LAUNCHES, name, "launch"))
    missing = [feature for feature in mode.NEEDS if feature not in machine.features]
    if missing:
        able = [other for other in launch_names() if not cast(LaunchMode, load_module(LAUNCHES, other, "launch")).NEEDS]
        raise UserError(
            f"launch {name} needs {', '.join(missing)}, which {machine.name} lacks; {', '.join(able)} work there"
        )
    return mode


def launch_cost(name: str, machine: Machine) -> LaunchCost:
    """The cost of launching on a machine. Raises UnknownName, UserError."""
    return launch_named(name, machine).cost(machine)

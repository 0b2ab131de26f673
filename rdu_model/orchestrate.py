"""Orchestration: which nodes become one call, and what starting a call costs. The modes are files in schedules/."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

from patterns.errors import UnknownName
from patterns.graph import Block, Graph
from patterns.plan import LaunchCost
from patterns.plugin import load_module, modules
from rdu_model.machine import Machine

PACKAGE = "rdu_model.schedules"
ORCHESTRATIONS = ("hardware", "software")


@dataclass(frozen=True)
class Intended:
    """Nodes of a block that are to be one call, `iterations` executions of the block at a time. reason: for people."""

    block: Block
    nodes: tuple[str, ...]
    iterations: int
    reason: str


class Mode(Protocol):
    """The names that a file in schedules/ has. RANK: how much it fuses; modes are listed by it."""

    RANK: int

    def calls(self, graph: Graph) -> tuple[Intended, ...]:
        """The calls of a graph, in order."""


def mode_names() -> tuple[str, ...]:
    """Every mode there is, from the one that fuses least."""
    return tuple(sorted(modules(PACKAGE), key=lambda name: mode_named(name).RANK))


def mode_named(name: str) -> Mode:
    """The mode `name`. Raises UnknownName."""
    return cast(Mode, load_module(PACKAGE, name, "RDU mode"))


def launch_cost(machine: Machine, orchestration: str) -> LaunchCost:
    """What calls cost when the AGCUs start them (hardware), or the host (software). Raises UnknownName.

    Each call is a program load, an argument load and the execute command; whether a program that is there already is
    loaded again is not published, so each call pays for all three. The host waits for a call's end before it starts
    the next: of long calls its part is told to be small, not hidden, and a host that ran ahead would make decode
    slower by the number of calls, more than was seen. The AGCUs have the whole order and need no host.
    """
    if orchestration not in ORCHESTRATIONS:
        raise UnknownName("orchestration", orchestration, ORCHESTRATIONS)
    if orchestration == "software":
        host_ps = machine.software_program_load_ps + machine.software_argument_load_ps + machine.software_execute_ps
        return LaunchCost("software", 0, host_ps, 0, queue_depth=0)
    device_ps = machine.hardware_program_load_ps + machine.hardware_argument_load_ps + machine.hardware_execute_ps
    return LaunchCost("hardware", device_ps, 0, device_ps, queue_depth=1)


def call_ps(launch: LaunchCost) -> int:
    """Time that one more call costs."""
    return launch.host_ps + launch.device_ps

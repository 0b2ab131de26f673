"""A graph whose kernels start before the one before has ended (programmatic dependent launch).

The launch and the start of a kernel pass while the one before runs; its first load still waits until all results of
that one are seen, as at a sync of the whole grid.
"""

from __future__ import annotations

from dataclasses import replace

from gpu_model.machine import Machine
from patterns.plan import LaunchCost
from patterns.units import ticks

NEEDS = ("pdl",)


def cost(machine: Machine) -> LaunchCost:
    """The host pays once; the start of a kernel is on a lane of its own, and a sync is between two."""
    return LaunchCost(
        "pdl",
        machine.graph_launch_ps,
        0,
        min(machine.grid_sync_ps, machine.launch_gap_ps),
        machine.launch_queue_depth,
        prologue_ps=ticks(machine.kernel_ramp_cycles + machine.product_ramp_cycles, machine.clock_hz),
    )


def inside(machine: Machine) -> Machine:
    """What comes before a kernel's first load is its prologue, which the call level has."""
    return replace(machine, kernel_ramp_cycles=0, product_ramp_cycles=0)

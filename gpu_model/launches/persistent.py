"""One launch of one kernel that stays on all SMs: where kernels ended and began, the whole grid meets at a sync."""

from __future__ import annotations

from dataclasses import replace

from gpu_model.machine import Machine
from patterns.plan import LaunchCost
from patterns.units import ticks

NEEDS: tuple[str, ...] = ()


def cost(machine: Machine) -> LaunchCost:
    """The host pays once, the kernel starts once; between what used to be kernels is a sync of the grid."""
    start_ps = ticks(machine.kernel_ramp_cycles, machine.clock_hz)
    return LaunchCost("persistent", machine.stream_launch_ps + start_ps, 0, machine.grid_sync_ps, 1, together=True)


def inside(machine: Machine) -> Machine:
    """Nothing starts again; stores must still have arrived when the grid meets."""
    return replace(machine, kernel_ramp_cycles=0, product_ramp_cycles=0)

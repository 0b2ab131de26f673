"""One launch for each kernel; the host runs ahead, so a launch costs time only where kernels are shorter."""

from __future__ import annotations

from gpu_model.machine import Machine
from patterns.plan import LaunchCost

NEEDS: tuple[str, ...] = ()


def cost(machine: Machine) -> LaunchCost:
    """The host pays for each kernel, the device has a gap between two."""
    return LaunchCost("stream", 0, machine.stream_launch_ps, machine.launch_gap_ps, machine.launch_queue_depth)


def inside(machine: Machine) -> Machine:
    """A kernel starts and ends by itself."""
    return machine

"""One launch for the whole graph (a CUDA graph, replayed); each kernel still waits for the one before, and a gap."""

from __future__ import annotations

from gpu_model.machine import Machine
from patterns.plan import LaunchCost

NEEDS: tuple[str, ...] = ()


def cost(machine: Machine) -> LaunchCost:
    """The host pays once, the device has a gap between two kernels."""
    return LaunchCost("graph", machine.graph_launch_ps, 0, machine.launch_gap_ps, machine.launch_queue_depth)


def inside(machine: Machine) -> Machine:
    """A kernel starts and ends by itself."""
    return machine

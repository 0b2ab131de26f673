"""What launching kernels costs: on the host, and on the device between two kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_model.machine import Machine
from patterns.errors import UnknownName
from patterns.plan import LaunchCost


def _stream(machine: Machine) -> LaunchCost:
    """One launch for each kernel. The host runs ahead, so its cost is exposed only where kernels are shorter."""
    return LaunchCost("stream", 0, machine.stream_launch_ps, machine.launch_gap_ps, machine.launch_queue_depth)


def _graph(machine: Machine) -> LaunchCost:
    """One launch for the whole graph; every node still waits for the end of the one before, and for the gap."""
    return LaunchCost("graph", machine.graph_launch_ps, 0, machine.launch_gap_ps, machine.launch_queue_depth)


LAUNCHES: Mapping[str, Callable[[Machine], LaunchCost]] = {"stream": _stream, "graph": _graph}


def launch_names() -> tuple[str, ...]:
    """Ways to launch."""
    return tuple(LAUNCHES)


def launch_cost(name: str, machine: Machine) -> LaunchCost:
    """The cost of launching on a machine. Raises UnknownName."""
    if name not in LAUNCHES:
        raise UnknownName("launch", name, LAUNCHES)
    return LAUNCHES[name](machine)

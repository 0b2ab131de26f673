"""The host's side: the calls that start work, how far they run ahead of the device, and CUDA graphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.profile.attribution import Started
from experiments.profile.durations import Durations, durations
from experiments.profile.recording import Launch
from experiments.profile.steps import Step, by_launch


@dataclass(frozen=True)
class LaunchCalls:
    """Calls of one name that started work, and how many kernels each started."""

    name: str
    calls: Durations
    kernels: Durations


@dataclass(frozen=True)
class Host:
    """What launching took in the steps. ahead: from the return of a launch to the start of its first kernel, in ns;
    below 0 where a kernel begins before. in_graphs: kernels that are of CUDA graphs.
    """

    calls: tuple[LaunchCalls, ...]
    ahead: Durations | None
    in_graphs: int
    graph_launches: int

    @property
    def total_ns(self) -> int:
        """Time in calls that start work."""
        return sum(one.calls.total_ns for one in self.calls)


def host_of(steps: Sequence[Step]) -> Host:
    """The launches of all steps."""
    work = [one for step in steps for one in step.work]
    launches, started = by_launch(work)
    lengths: dict[str, list[int]] = defaultdict(list)
    kernels: dict[str, list[int]] = defaultdict(list)
    for launch, held in zip(launches, started, strict=True):
        lengths[launch.name].append(launch.end - launch.start)
        kernels[launch.name].append(len(held))
    calls = [LaunchCalls(name, durations(lengths[name]), durations(kernels[name])) for name in lengths]
    ahead = [_first(held) - launch.end for launch, held in zip(launches, started, strict=True)]
    return Host(
        calls=tuple(sorted(calls, key=lambda one: -one.calls.total_ns)),
        ahead=durations(ahead) if ahead else None,
        in_graphs=sum(one.kernel.graph or _launches_graph(one.launch) for one in work),
        graph_launches=sum(map(_launches_graph, launches)),
    )


def _launches_graph(launch: Launch | None) -> bool:
    """'cudaGraphLaunch' and what releases and other drivers call it."""
    return launch is not None and "graphlaunch" in launch.name.lower()


def _first(held: Sequence[Started]) -> int:
    return min(one.kernel.start for one in held)

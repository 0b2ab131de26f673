"""What to read off a run: the types. run.py makes the Execution, summarize.py the Report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from patterns.energy import Energy
from patterns.pipeline import overlap, waterfall
from patterns.pipeline.program import Program
from patterns.pipeline.timeline import Timeline
from patterns.plan import Plan

PICOSECONDS = 10**12

# Parts of the overlap account, in the order they are shown. They add up to the whole time.
OVERLAP_PARTS = overlap.PARTS
# Steps of the waterfall, in order: from the graph's work up to the calls' ("work" of their own waterfalls), then
# what each call's waterfall adds. They add up to the whole time.
WATERFALL_PARTS = (
    "speed_of_light",
    "extra_work",
    "separate_calls",
    "below_peak",
    "imbalance",
    *(part for part in waterfall.PARTS if part != "work"),
)


@dataclass(frozen=True)
class CallRun:
    """One distinct call, simulated: its Timeline (cycles) and its whole time in picoseconds (rounded up once)."""

    name: str
    timeline: Timeline = field(repr=False)
    duration_ps: int


@dataclass(frozen=True)
class Execution:
    """A Plan, simulated: every distinct call, and the call-level schedule in picoseconds."""

    plan: Plan
    calls: tuple[CallRun, ...] = field(repr=False)
    schedule_program: Program = field(repr=False)
    schedule: Timeline = field(repr=False)

    @cached_property
    def call_named(self) -> Mapping[str, CallRun]:
        """Simulated call by name."""
        return {call.name: call for call in self.calls}


@dataclass(frozen=True)
class CallCount:
    """Launches of one block: for one execution of it, and in all. A looped block has 1 for all its iterations."""

    block: str
    executions: int
    per_execution: int
    total: int


@dataclass(frozen=True)
class Launching:
    """What starting the calls took: the host, and prologues on the device. exposed_ps: of it, what calls waited for.

    host_bound: the host takes longer to launch all calls than the device to run them, so the queue runs empty.
    """

    launching_ps: int = 0
    exposed_ps: int = 0
    host_bound: bool = False


@dataclass(frozen=True)
class Report:
    """A run in numbers. Times are integer picoseconds inside, `*_s` are seconds.

    overlap_ps and waterfall_ps each add up to time_ps exactly. bytes: by memory level, over all members.
    bound: the resource that limits the bound. energy: None where the machine's file has no energies.
    """

    machine: str
    family: str
    mode: str
    members: int
    calls: int
    calls_by_block: tuple[CallCount, ...]
    calls_per_layer: int | None
    time_ps: int
    bound_ps: int
    bound: str
    bytes: tuple[tuple[str, int], ...]
    overlap_ps: tuple[tuple[str, int], ...]
    waterfall_ps: tuple[tuple[str, int], ...]
    utilization: tuple[tuple[str, float], ...]
    warnings: tuple[str, ...] = ()
    launching: Launching = Launching()
    energy: Energy | None = None

    @property
    def time_s(self) -> float:
        """Whole time in seconds."""
        return self.time_ps / PICOSECONDS

    @property
    def bound_s(self) -> float:
        """Lower bound in seconds."""
        return self.bound_ps / PICOSECONDS

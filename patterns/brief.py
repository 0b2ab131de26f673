"""From an Execution without spans to its few main numbers, checked: what a table of very many runs has of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from patterns.energy import Energy
from patterns.errors import BrokenInvariant
from patterns.pipeline.calls import DEVICE, LINK
from patterns.pipeline.program import Program
from patterns.pipeline.timeline import Timeline
from patterns.report import PICOSECONDS, Execution
from patterns.spent import energy_of
from patterns.summarize import bound_of, bytes_moved, check_rates, counted_by_block, per_layer


@dataclass(frozen=True)
class Brief:
    """A run in its main numbers; they are those of its Report."""

    machine: str
    mode: str
    members: int
    calls: int
    calls_per_layer: int | None
    time_ps: int
    bound_ps: int
    bound: str
    bytes: tuple[tuple[str, int], ...]
    energy: Energy | None = None

    @property
    def time_s(self) -> float:
        """Whole time in seconds."""
        return self.time_ps / PICOSECONDS

    @property
    def bound_s(self) -> float:
        """Lower bound in seconds."""
        return self.bound_ps / PICOSECONDS


def brief(execution: Execution) -> Brief:
    """The main numbers of a run, with spans or without. Raises BrokenInvariant for one that cannot be."""
    plan = execution.plan
    bound, bound_ps = bound_of(plan)
    check_rates(execution, bound, bound_ps)
    check_units(execution)
    counts = counted_by_block(plan)
    return Brief(
        machine=plan.machine,
        mode=plan.mode,
        members=plan.members,
        calls=sum(count.total for count in counts),
        calls_per_layer=per_layer(counts),
        time_ps=execution.schedule.total_cycles,
        bound_ps=bound_ps,
        bound=bound,
        bytes=bytes_moved(plan),
        energy=energy_of(plan, execution.schedule.total_cycles),
    )


def check_units(execution: Execution) -> None:
    """No unit is busy for more than all of the time, none for less than none of it, and the device runs its calls and
    nothing else. Raises BrokenInvariant, which names the call.
    """
    plan, schedule = execution.plan, execution.schedule
    for call, run in zip(plan.calls, execution.calls, strict=True):
        if run.duration_ps < 0:
            raise BrokenInvariant(f"{plan.machine}: call {call.name} takes {run.duration_ps} ps")
        for unit, cycles, most in _busy(call.program, run.timeline):
            if not 0 <= cycles <= most:
                raise BrokenInvariant(f"{plan.machine}: call {call.name} has {unit} busy {cycles} of {most} cycles")
    running = sum(run.duration_ps * call.count for call, run in zip(plan.calls, execution.calls, strict=True))
    busy = schedule.busy_cycles.get(DEVICE, 0) + schedule.busy_cycles.get(LINK, 0)
    if not running == busy <= schedule.total_cycles:
        raise BrokenInvariant(
            f"{plan.machine}: calls take {running} ps, the device is busy for {busy} of {schedule.total_cycles} ps"
        )


def _busy(program: Program, timeline: Timeline) -> Iterator[tuple[str, int, int]]:
    """Each unit with its busy cycles, and the most that all its lanes have."""
    for unit in program.units:
        yield unit.name, timeline.busy_cycles[unit.name], unit.lanes * timeline.total_cycles

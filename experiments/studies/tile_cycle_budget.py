"""The cycle budget of a step of a GEMM tile: what its parts take, on the lecture's SM and on an H100's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.plot.spans import Run, Spans
from experiments.survey import Record, Survey
from patterns.plural import number_of

if TYPE_CHECKING:
    from gpu_model.lecture.gemm import LectureRun

COPIES, TMA = "synchronous, cp.async", "producer warp, TMA"
# A step loads a tile of each, TMA by one instruction each.
OPERANDS = 2


def cases() -> Iterator[LectureRun]:
    """A tile of 128 x 256 with K = 4096, loaded by the computing warps and by a producer; and if loads were free."""
    from gpu_model.lecture.gemm import SLOTS, LectureRun

    yield LectureRun(COPIES, "synchronous")
    yield LectureRun(TMA, "warp_specialized", SLOTS)


def record(run: LectureRun) -> Record:
    """Cycles of each part of one step, and of the whole tile."""
    from gpu_model.lecture.estimates import ideal_cycles, ideal_time_us
    from gpu_model.lecture.gemm import MACHINE
    from gpu_model.lecture.parts import step_parts
    from gpu_model.loader import loader_named
    from gpu_model.machine import load_machine

    parts, loader = step_parts(run), loader_named("tma" if run.id == TMA else "cp_async")
    steps = run.tensor_core_busy_cycles // parts.mma_cycles
    return {
        "loads": run.id,
        "step_bytes": parts.load_bytes,
        "load_instructions": OPERANDS * loader.instructions(load_machine(MACHINE), parts.load_bytes // OPERANDS),
        "issue_cycles": parts.issue_cycles,
        "transfer_cycles": parts.load_cycles,
        "latency_cycles": parts.latency_cycles,
        "mma_cycles": parts.mma_cycles,
        "step_cycles": parts.issue_cycles + parts.load_cycles + parts.latency_cycles + parts.mma_cycles,
        "steps": steps,
        "total_cycles": run.total_cycles,
        "bound_cycles": ideal_cycles(steps, parts.mma_cycles),
        "bound_us": ideal_time_us(steps, parts.mma_cycles, run.plan.calls[0].clock_hz),
        "tensor_core_percent": run.tensor_core_percent,
    }


def finding(rows: Sequence[Record]) -> str:
    """What a step takes one part after another, and what of it is the tensor core's."""
    copies, tma = (next(row for row in rows if row["loads"] == loads) for loads in (COPIES, TMA))
    share = 100 * copies["mma_cycles"] / copies["step_cycles"]
    longest = "the tensor core" if copies["mma_cycles"] >= copies["transfer_cycles"] else "the load path"
    return (
        f"A step multiplies for {copies['mma_cycles']:,} cycles; before that its {copies['step_bytes'] / 1024:.0f} KiB"
        f" take {copies['issue_cycles']} to issue by cp.async, {copies['transfer_cycles']} to move and"
        f" {copies['latency_cycles']} to arrive. One after another the tensor core computes {share:.1f} % of the time."
        f" If all overlapped, {longest} would be the limit; a producer warp comes within"
        f" {100 * (tma['total_cycles'] / tma['bound_cycles'] - 1):.1f} % of it."
    )


def details(rows: Sequence[Record]) -> str:
    """Instructions of a step's loads, and the whole tile."""
    copies, tma = (next(row for row in rows if row["loads"] == loads) for loads in (COPIES, TMA))
    return (
        f"To issue a step's loads takes {number_of(copies['load_instructions'], 'warp instruction')} of cp.async, or"
        f" {tma['load_instructions']} of TMA, one an operand, in {tma['issue_cycles']} cycles. With its end the tile"
        f" has the tensor core busy {copies['tensor_core_percent']:.1f} % of the time; the limit is"
        f" {copies['bound_cycles']:,} cycles or {copies['bound_us']:.1f} us."
    )


def runs() -> list[Run]:
    """Both ways to load the tile."""
    return [(run.id, run.plan.calls[0].program, run.timeline, None) for run in cases()]


STUDY = Survey(
    question="What does a step of a matrix tile spend its cycles on, and what could overlap?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "step",
            label="loads",
            values=("issue_cycles", "transfer_cycles", "latency_cycles", "mma_cycles"),
            stacked=True,
            title="One step of a tile of 128 x 256, one part after another",
            x_label="cycles",
        ),
        Spans("first_steps", runs, title="The first 12,000 cycles of the tile", until=12_000),
    ),
)

"""Software pipelining on the lecture's SM: synchronous loads, double buffering through registers, 1 to 6 stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from gpu_model.lecture.gemm import LectureRun

WAYS = ("synchronous", "register double buffer", "multistage")
# Schedules that bring the next step through the registers.
STAGED = ("register_double_buffer",)


def cases() -> Iterator[LectureRun]:
    """A tile of 128 x 256 with K = 4096: every way to load it."""
    from gpu_model.lecture.gemm import STAGES, LectureRun

    yield LectureRun("synchronous", "synchronous")
    yield LectureRun("register double buffer", "register_double_buffer")
    for stages in STAGES:
        yield LectureRun("multistage", "multistage", (("slots", str(stages)),))


def record(run: LectureRun) -> Record:
    """Cycles, and the share in which the tensor core computes; beside it what issuing loads leaves of it."""
    from gpu_model.lecture.estimates import multistage_bound_percent, staging_registers
    from gpu_model.lecture.parts import step_parts

    parts = step_parts(run)
    stages = int(dict(run.options).get("slots", 1 if run.schedule == "synchronous" else 2))
    return {
        "way": run.id,
        "stages": stages,
        "shared_memory_kib": stages * parts.load_bytes / 1024,
        "staging_registers_per_thread": staging_registers(parts.load_bytes) if run.schedule in STAGED else 0,
        "total_cycles": run.total_cycles,
        "tensor_core_percent": run.tensor_core_percent,
        "bound_percent": multistage_bound_percent(parts.mma_cycles, parts.issue_cycles),
    }


def finding(rows: Sequence[Record]) -> str:
    """What each way reaches, from how many stages on more do not help, and what keeps them from the bound."""
    first = {way: next(row for row in rows if row["way"] == way) for way in WAYS}
    deep = [row for row in rows if row["way"] == "multistage"]
    best = max(row["tensor_core_percent"] for row in deep)
    enough = next(row for row in deep if row["tensor_core_percent"] > best - 1)
    waiting, staged = (first[way] for way in WAYS[:2])
    return (
        f"The tensor core computes {waiting['tensor_core_percent']:.1f} % of the time with synchronous loads,"
        f" {staged['tensor_core_percent']:.1f} % where the next step's data wait in registers"
        f" ({staged['staging_registers_per_thread']} of each thread), and {enough['tensor_core_percent']:.1f} % with"
        f" {enough['stages']} stages of cp.async; further stages add"
        f" {best - enough['tensor_core_percent']:.1f} points. Beyond {enough['bound_percent']:.1f} % there is nothing:"
        " the computing warps spend the rest of every step on issuing loads."
    )


STUDY = Survey(
    question="How much of a load does software pipelining hide, and from how many stages on do more not help?",
    cases=cases,
    record=record,
    finding=finding,
    figures=(
        Bars(
            "tensor_core_by_way",
            label="way",
            values=("tensor_core_percent",),
            by="stages",
            bound="bound_percent",
            title="Tensor core busy, one tile of K = 4096; line: what issuing loads leaves of it",
            x_label="Tensor core busy [%]",
        ),
    ),
    keys=2,
)

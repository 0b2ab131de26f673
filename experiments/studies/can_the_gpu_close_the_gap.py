"""What is left between a GPU and its bound when launches, fusion and cache residency are added one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiments.plot.bars import Bars
from experiments.point import Point, point_record, run_point
from experiments.survey import Record, Survey

MODEL = "llama-3.1-8b"
CONTEXT: int | None = 4096
GPU, RDU = "h100_sxm", "sn40l"
KEPT = (("l2_keep", "intermediate"),)


@dataclass(frozen=True)
class Step:
    """One step on the way, and what was run. Each has all that the steps before it have, unless it replaces it."""

    step: str
    point: Point


# A step that changes less is not told apart.
WORTH_MS = 0.04


def on_gpu(step: str, policy: str, launch: str, options: tuple[tuple[str, str], ...] = ()) -> Step:
    """A step of the GPU."""
    return Step(step, Point(MODEL, GPU, policy, context=CONTEXT, launch=launch, options=options))


def on_rdu(step: str, mode: str, orchestration: str = "hardware") -> Step:
    """A mode of the RDU."""
    return Step(step, Point(MODEL, RDU, mode, context=CONTEXT, orchestration=orchestration))


def cases() -> list[Step]:
    """The GPU from the most launches to one kernel; beside it the RDU's modes."""
    return [
        on_gpu("operators, a serving host launches", "operator", "serving"),
        on_gpu("a stream that runs ahead instead", "operator", "stream"),
        on_gpu("a CUDA graph instead", "operator", "graph"),
        on_gpu("programmatic dependent launch", "operator", "pdl"),
        on_gpu("fused as tuned libraries do", "library", "pdl"),
        on_gpu("fused into epilogues too", "epilogue", "pdl"),
        on_gpu("fused by predicted cost", "auto", "pdl"),
        on_gpu("intermediates kept in L2", "auto", "pdl", KEPT),
        on_gpu("one persistent megakernel", "megakernel", "persistent"),
        on_gpu("its intermediates kept in L2", "megakernel", "persistent", KEPT),
        on_rdu("unfused, the host launches", "unfused", "software"),
        on_rdu("unfused", "unfused"),
        on_rdu("a call for each decoder", "fused"),
        on_rdu("all decoders in one call", "looped"),
    ]


def record(case: Step) -> Record:
    """One step: its calls and time, and what its machine's bound leaves."""
    outcome = run_point(case.point)
    row = point_record(case.point, outcome)
    launching = outcome.report.launching
    return {
        "step": case.step,
        "machine": case.point.machine,
        "mode": row["mode"],
        "launch": case.point.launch if case.point.machine == GPU else case.point.orchestration,
        "calls": row["calls"],
        "time_ms": row["time_us"] / 1e3,
        "bound_ms": row["bound_us"] / 1e3,
        "times_bound": row["time_us"] / row["bound_us"],
        "exposed_launching_ms": launching.exposed_ps / 1e9,
        "off_chip_gb": row["off_chip_bytes"] / 1e9,
        "energy_j": row["energy_j"],
    }


def finding(rows: Sequence[Record]) -> str:
    """How far all steps bring it, and how far the RDU comes to its own bound."""
    gpu, rdu = ([row for row in rows if row["machine"] == machine] for machine in (GPU, RDU))
    first, last, best = gpu[0], *(min(side, key=lambda row: row["time_ms"]) for side in (gpu, rdu))
    closed = 100 * (first["time_ms"] - last["time_ms"]) / (first["time_ms"] - first["bound_ms"])
    nearer = "nearer to it than" if last["times_bound"] < best["times_bound"] else "no nearer to it than"
    return (
        f"A token of {MODEL} on one {GPU} takes {first['time_ms']:.2f} ms in {first['calls']:,} launches and"
        f" {last['time_ms']:.2f} ms in {last['calls']} ({last['step']}): {closed:.0f} % of the way to its bound of"
        f" {first['bound_ms']:.2f} ms, {last['times_bound']:.2f} times it, {nearer} the {RDU} comes to its own"
        f" ({best['times_bound']:.2f} times {best['bound_ms']:.2f} ms in {best['calls']} calls)."
    )


def details(rows: Sequence[Record]) -> str:
    """What each step saves."""
    gpu = [row for row in rows if row["machine"] == GPU]
    saved = {two["step"]: two["time_ms"] - one["time_ms"] for one, two in pairwise(gpu)}
    steps = "; ".join(f"{step} {ms:+.2f} ms" for step, ms in saved.items() if abs(ms) >= WORTH_MS)
    others = " and ".join(step for step, ms in saved.items() if abs(ms) < WORTH_MS)
    nothing = f"; {others} change less than {WORTH_MS} ms" if others else ""
    return f"Step by step: {steps}{nothing}."


STUDY = Survey(
    question="Can a GPU close the gap between hundreds of launches a token and its bound, and by which steps?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "gap",
            label="step",
            values=("time_ms",),
            panel="machine",
            bound="bound_ms",
            title=f"A token of {MODEL}, step by step; the line is the machine's bound",
            log=True,
        ),
    ),
)

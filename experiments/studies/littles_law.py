"""Little's law on one SM's load path: what bytes under way make of its rate, beside rate x latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.plot.lines import Lines
from experiments.survey import Record, Survey
from patterns.plural import number_of

if TYPE_CHECKING:
    from gpu_model.lecture.gemm import LectureRun

# K of a step: of 12, 24 and 48 KiB. The ring is as deep as 144 KiB are.
STEPS_K = (16, 32, 64)
RING_KIB, K_KIB = 144, 0.75
# A tensor core that takes hardly any time: what is left is the load path.
FAST = ("bf16_flops_per_cycle", "4194304 FLOP/cycle")


def cases() -> Iterator[LectureRun]:
    """A producer warp fills rings of every depth with slots of several sizes; nothing else limits it."""
    from gpu_model.lecture.gemm import LectureRun

    for inner in STEPS_K:
        set_to = (FAST, ("tile_k_bytes", f"{2 * inner} B"))
        for slots in range(1, int(RING_KIB / (K_KIB * inner)) + 1):
            yield LectureRun(f"{K_KIB * inner:.0f} KiB", "warp_specialized", (("slots", str(slots)),), set_to)


def record(run: LectureRun) -> Record:
    """How busy the load path is with so many slots, and what Little's law gives: bytes under way / (rate x time)."""
    from gpu_model.lecture.estimates import in_flight_bytes
    from gpu_model.lecture.parts import step_parts

    parts = step_parts(run)
    rate = parts.load_bytes / parts.load_cycles
    slots = int(dict(run.options)["slots"])
    # A slot is taken from the issue of its load until the product that used it is over.
    held = parts.issue_cycles + parts.load_cycles + parts.latency_cycles + parts.mma_cycles
    return {
        "slot": run.id,
        "slots": slots,
        "ring_bytes": slots * parts.load_bytes,
        "load_path_percent": 100 * steady_share(run),
        "bound_percent": min(100.0, 100 * slots * parts.load_bytes / (rate * held)),
        "needed_in_flight_bytes": in_flight_bytes(parts.load_bytes // parts.load_cycles, parts.latency_cycles),
        "needed_ring_bytes": int(rate * held),
    }


def steady_share(run: LectureRun) -> float:
    """Share of the time in which the load path is busy, from the first load's start to the last one's arrival."""
    from gpu_model.lecture.parts import step_parts

    parts, ends = step_parts(run), run.timeline.busy_cycles
    rest = parts.latency_cycles + parts.mma_cycles + ends["vector"] + ends["store"] + parts.issue_cycles
    return ends["load"] / (run.total_cycles - rest)


def finding(rows: Sequence[Record]) -> str:
    """How many bytes must be under way, and how many the ring must have for it by the size of its slots."""
    told = []
    for slot in dict.fromkeys(row["slot"] for row in rows):
        enough = next(row for row in rows if row["slot"] == slot and row["load_path_percent"] > 99)
        told.append(f"{number_of(enough['slots'], 'slot')} of {slot} ({enough['ring_bytes'] / 1024:.0f} KiB)")
    off = max(abs(row["load_path_percent"] - row["bound_percent"]) for row in rows)
    return (
        f"To keep the load path busy {rows[0]['needed_in_flight_bytes']:,} bytes must be in flight (rate x latency). A"
        f" ring also holds what is just moving, so {', '.join(told)} are enough. Smaller rings do as Little's law says,"
        f" within {off:.1f} points."
    )


STUDY = Survey(
    question="How many bytes must be under way to keep the load path of an SM busy?",
    cases=cases,
    record=record,
    finding=finding,
    figures=(
        Lines(
            "load_path",
            x="ring_bytes",
            y="load_path_percent",
            by="slot",
            bound="bound_percent",
            title="Load path busy, by the bytes of the ring; dashed: Little's law",
            x_label="Bytes of the ring",
            y_label="Load path busy [%]",
        ),
    ),
    keys=2,
)

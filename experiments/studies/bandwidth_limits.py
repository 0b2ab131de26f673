"""The load path of an SM swept: where a matrix tile becomes memory-bound, by its size, and what schedules can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.plot.lines import Lines
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from gpu_model.lecture.gemm import LectureRun

MULTISTAGE, PRODUCER = "multistage", "warp-specialized"
WAYS = {MULTISTAGE: "multistage", PRODUCER: "warp_specialized"}
COLUMNS = (64, 128, 256)
RATES = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 160, 192)
# The load path ends at the L2, which must give as much.
PATHS = ("load", "store", "l2")
# The lecture's tile and its experiment with half the rate.
TILE, HALF = "128x256", 32


def cases() -> Iterator[LectureRun]:
    """Tiles of 128 rows with K = 4096 and 4 slots; loads and stores at every rate."""
    from gpu_model.lecture.gemm import SLOTS, LectureRun

    for columns in COLUMNS:
        for way, schedule in WAYS.items():
            for rate in RATES:
                rates = ((f"{path}_bytes_per_cycle", f"{rate} B/cycle") for path in PATHS)
                set_to = (*rates, ("tile_columns", f"[{columns}]"))
                yield LectureRun(f"128x{columns} {way}", schedule, SLOTS, set_to, columns=columns)


def record(run: LectureRun) -> Record:
    """How busy the tensor core and the load path are, and what the slower of them leaves of the first."""
    from gpu_model.lecture.parts import step_parts

    parts = step_parts(run)
    tile, way = run.id.split()
    rate, loading = dict(run.set_to)["load_bytes_per_cycle"], run.timeline.busy_cycles["load"]
    return {
        "tile": tile,
        "way": way,
        "load_bytes_per_cycle": int(rate.split()[0]),
        "bytes_a_product_cycle": parts.load_bytes / parts.mma_cycles,
        "total_cycles": run.total_cycles,
        "tensor_core_percent": run.tensor_core_percent,
        "bound_percent": 100 * min(1.0, parts.mma_cycles / parts.load_cycles),
        "load_path_percent": 100 * loading / run.total_cycles,
    }


def finding(rows: Sequence[Record]) -> str:
    """The rate below which each tile waits for data, and what the schedules differ by on either side of it."""
    need = {row["tile"]: row["bytes_a_product_cycle"] for row in rows}
    needs = ", ".join(f"{rate:.0f} ({tile})" for tile, rate in need.items())
    gain = {row["load_bytes_per_cycle"]: row["tensor_core_percent"] for row in _of(rows, TILE, PRODUCER)}
    for row in _of(rows, TILE, MULTISTAGE):
        gain[row["load_bytes_per_cycle"]] -= row["tensor_core_percent"]
    short = max(abs(points) for rate, points in gain.items() if rate < 0.9 * need[TILE])
    enough = max(points for rate, points in gain.items() if rate > need[TILE])
    half = next(row for row in _of(rows, TILE, PRODUCER) if row["load_bytes_per_cycle"] == HALF)
    return (
        f"A tile waits for data where the load path brings fewer bytes a cycle than its product uses: {needs}. At"
        f" {HALF} {TILE} keeps the tensor core busy {half['tensor_core_percent']:.1f} % of the time, and the schedules"
        f" differ by at most {short:.1f} points; with enough data by up to {enough:.1f}."
    )


def details(rows: Sequence[Record]) -> str:
    """What the limit is there."""
    half = next(row for row in _of(rows, TILE, PRODUCER) if row["load_bytes_per_cycle"] == HALF)
    return (
        f"At {HALF} bytes a cycle the load path is busy {half['load_path_percent']:.1f} % of the time, whoever loads. A"
        " larger tile uses fewer bytes for each product, which helps where a schedule cannot."
    )


def _of(rows: Sequence[Record], tile: str, way: str) -> list[Record]:
    return [row for row in rows if (row["tile"], row["way"]) == (tile, way)]


STUDY = Survey(
    question="At which bandwidth does a matrix tile become memory-bound, and does warp specialisation help there?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Lines(
            "tensor_core_by_rate",
            x="load_bytes_per_cycle",
            y="tensor_core_percent",
            by="way",
            panel="tile",
            bound="bound_percent",
            title="Tensor core busy, by the rate of the load path; dashed: the slower of the two alone",
            x_label="Load path [B/cycle]",
            y_label="Tensor core busy [%]",
        ),
    ),
    keys=3,
)

"""exp beside the tensor core on A100, H100, B200 and in fp8, and what a polynomial on the FMA units takes off it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.charting.reshape import Where
from experiments.plot.bars import Bars
from experiments.plot.lines import Lines
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from gpu_model.lecture.attention import AttentionRun

TURNS, BOTH = "ping-pong", "both overlaps"
SCHEDULES = {"serial": "serial", "pingpong": TURNS, "intra_warpgroup": "inside a warpgroup", "both": BOTH}
# Eighths of the exponentials that a polynomial computes, on the FMA units while the special ones compute the others.
EIGHTHS = (0, 1, 2, 3, 4, 5, 6)
FP8 = "H100 fp8"


def cases() -> Iterator[AttentionRun]:
    """Each generation's products, each schedule; where exp is short of units, some of it as a polynomial."""
    from gpu_model.lecture.attention import EXP_CYCLES, PRODUCT_CYCLES, WARPGROUPS, AttentionRun

    # fp8 doubles what the tensor core does in a cycle, and nothing else.
    products = PRODUCT_CYCLES | {FP8: PRODUCT_CYCLES["H100"] // 2}
    for generation, product in products.items():
        for eighths in EIGHTHS:
            special = EXP_CYCLES * (8 - eighths) // 8
            for name, schedule in SCHEDULES.items():
                run = f"{generation}, {schedule}, {eighths}"
                yield AttentionRun(
                    run,
                    f"attention_{name}",
                    WARPGROUPS[name],
                    product,
                    special,
                    polynomial_cycles=polynomial_cycles(eighths),
                )


def polynomial_cycles(eighths: int) -> int:
    """Cycles of the FMA units for so many eighths of a block's exponentials."""
    from gpu_model.lecture.attention import EXP_CYCLES
    from gpu_model.machine import load_machine
    from gpu_model.schedule import polynomial_ops

    sm, ops = load_machine("lecture_sm"), polynomial_ops(load_machine("b200"))
    exponentials = EXP_CYCLES * sm.special_ops_per_cycle * eighths // 8
    return -(-exponentials * ops // sm.vector_ops_per_cycle)


def record(run: AttentionRun) -> Record:
    """How busy each unit is, and the cycles of a block on each."""
    gpu, schedule, eighths = run.id.split(", ")
    return {
        "gpu": gpu,
        "schedule": schedule,
        "polynomial_share": int(eighths) / 8,
        "exp_of_gemm": run.exp_cycles / (2 * run.product_cycles),
        "gemm_cycles": 2 * run.product_cycles,
        "exp_cycles": run.exp_cycles,
        "fma_cycles": run.vector_cycles + run.polynomial_cycles,
        "total_cycles": run.total_cycles,
        "tensor_core_percent": run.tensor_core_percent,
        "sfu_percent": run.special_percent,
        "fma_percent": run.vector_percent,
    }


def finding(rows: Sequence[Record]) -> str:
    """What exp is beside the products by generation, and what schedules make of it."""
    plain = [row for row in rows if not row["polynomial_share"]]
    gpus = list(dict.fromkeys(row["gpu"] for row in rows))
    at = {(row["gpu"], row["schedule"]): row for row in plain}
    ratios = ", ".join(f"{at[gpu, BOTH]['exp_of_gemm']:.2f} ({gpu})" for gpu in gpus)
    serial = ", ".join(f"{at[gpu, 'serial']['tensor_core_percent']:.0f}" for gpu in gpus)
    both = ", ".join(f"{at[gpu, BOTH]['tensor_core_percent']:.0f}" for gpu in gpus)
    return (
        f"exp takes {ratios} of the time of a block's two products. The tensor core computes {serial} % of the time"
        f" without overlap, {both} % with both; on B200 the special function units are then busy"
        f" {at['B200', BOTH]['sfu_percent']:.0f} % too."
    )


def details(rows: Sequence[Record]) -> str:
    """What moving exponentials to the FMA units does to each schedule on a B200, and from when on it costs."""
    told = []
    for schedule in (TURNS, BOTH):
        found = {row["polynomial_share"]: row for row in rows if (row["gpu"], row["schedule"]) == ("B200", schedule)}
        best = max(found, key=lambda share: found[share]["tensor_core_percent"])
        most = max(found)
        told.append(
            f"{found[0]['tensor_core_percent']:.0f} % become {found[best]['tensor_core_percent']:.0f} % with {schedule}"
            f" where {100 * best:.0f} % of them move (special units {found[0]['sfu_percent']:.0f} % busy before,"
            f" {found[best]['sfu_percent']:.0f} % after), and {found[most]['tensor_core_percent']:.0f} % where"
            f" {100 * most:.0f} % do"
        )
    return f"If the FMA units compute some exponentials by a polynomial at the same time, {'; '.join(told)}."


STUDY = Survey(
    question="Where does exp become the bottleneck of attention, and what does a polynomial on FMA units give back?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Where(
            Bars(
                "units_by_gpu",
                label="schedule",
                values=("tensor_core_percent", "sfu_percent"),
                panel="gpu",
                title="How busy each unit is, by schedule",
                x_label="Busy [%]",
            ),
            (("polynomial_share", 0.0),),
        ),
        Lines(
            "polynomial",
            x="polynomial_share",
            y="tensor_core_percent",
            by="schedule",
            panel="gpu",
            title="Tensor core busy, by the share of exponentials that a polynomial computes",
            x_label="Share of exponentials on FMA units",
            y_label="Tensor core busy [%]",
        ),
    ),
    keys=3,
)

"""Every ready-made workload: what it computes and moves, in how many calls each machine runs it, and how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.charting.reshape import Reshaped
from experiments.plot.bars import Bars
from experiments.point import Point, run_point
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from experiments.sides import Family
    from patterns.report import Report

MACHINES: dict[Family, str] = {"gpu": "h100_sxm", "rdu": "sn40l"}
# Calls of a workload, operator by operator, from which on its time is drawn.
MANY = 100
MODES: dict[Family, tuple[str, ...]] = {
    "gpu": ("pattern", "operator", "library", "megakernel"),
    "rdu": ("operator", "fused", "looped"),
}
TIMED: dict[Family, str] = {"gpu": "library", "rdu": "looped"}
# How many machines share a workload: the fewest of these whose HBM holds it, or that can share it at all.
MEMBERS: dict[Family, tuple[int, ...]] = {"gpu": (1, 2, 4, 8, 16, 32), "rdu": (1, 2, 4, 8, 16)}


def ready_made() -> tuple[str, ...]:
    """Every workload that has a name."""
    from patterns.library import names

    return names()


def record(case: Mapping[str, str]) -> Record:
    """One workload as its file has it (a model: one token of decoding, batch 1): counted, and run.

    It is run on as few machines of each sort as hold it.
    """
    from patterns.count import compulsory, graph_demand, intensity, parameters
    from patterns.library import workload

    name = case["workload"]
    graph = workload(name)
    demand = graph_demand(graph)
    row: Record = {
        "workload": name,
        "weights_m": parameters(graph) / 1e6,
        "matrix_gflop": demand.matrix_flops / 1e9,
        "other_gop": (demand.vector_ops + demand.special_ops) / 1e9,
        "mb": compulsory(graph).total_bytes / 1e6,
        "ops_per_byte": intensity(graph),
    }
    for family, machine in MACHINES.items():
        members, reports = fewest(name, family, machine)
        row[f"{family}s"] = members
        for mode in MODES[family]:
            row[f"{family}_{mode}_calls"] = reports[mode].calls if mode in reports else None
        timed = reports.get(TIMED[family])
        row[f"{family}_{TIMED[family]}_us"] = 1e6 * timed.time_s if timed else None
    calls = row["gpu_operator_calls"], row["rdu_looped_calls"]
    row["times_the_calls"] = calls[0] / calls[1] if all(calls) else None
    return row


def fewest(name: str, family: Family, machine: str) -> tuple[int | None, dict[str, Report]]:
    """How many machines hold the workload in HBM, and the report of each mode.

    Where it lies in slower memory too, however many share it, of as many as can; (None, {}) where none can run it.
    """
    for whole, counts in ((True, MEMBERS[family]), (False, MEMBERS[family][::-1])):
        for members in counts:
            reports = reports_of(name, family, machine, members, whole)
            if reports is not None:
                return members, reports
    return None, {}


def reports_of(name: str, family: Family, machine: str, members: int, whole: bool) -> dict[str, Report] | None:
    """Every mode on so many; None where they cannot share it, or where it is to lie in HBM whole and does not."""
    from experiments.sides import load_machine
    from patterns.count import parameter_bytes
    from patterns.errors import UserError
    from patterns.library import workload

    reports = {}
    try:
        if whole and parameter_bytes(workload(name, members=members)) > load_machine(family, machine, {}).hbm_bytes:
            return None
        for mode in MODES[family]:
            outcome = run_point(Point(name, machine, mode, members=members))
            if whole and outcome.execution.plan.spilled_bytes:
                return None
            reports[mode] = outcome.report
    except UserError:
        return None
    return reports


def finding(rows: Sequence[Record]) -> str:
    """How many fewer calls fusion leaves, over all workloads that run on both."""
    from experiments.text.quantity import digits

    both = by_calls(rows)
    fewer = [row["times_the_calls"] for row in both][::-1]
    return (
        f"{len(both)} of {len(rows)} workloads run on both machines. Operator by operator on a GPU they take"
        f" {digits(fewer[0])} to {digits(fewer[-1])} times the calls of an RDU with its layers looped (the middle one"
        f" {digits(fewer[len(fewer) // 2])}), most of all {both[0]['workload']}."
    )


def by_calls(rows: Sequence[Record]) -> list[Record]:
    """Workloads that run on both machines, from the one of which most calls go."""
    return sorted((row for row in rows if row["times_the_calls"]), key=lambda row: -row["times_the_calls"])


def of_many_calls(rows: Sequence[Record]) -> list[Record]:
    """Workloads of many calls, from the slowest on: mostly whole models."""
    return sorted(
        (row for row in by_calls(rows) if row["gpu_operator_calls"] >= MANY), key=lambda r: -r["gpu_library_us"]
    )


STUDY = Survey(
    question="What does each ready-made workload compute and move, and in how many calls does each machine run it?",
    cases=lambda: [{"workload": name} for name in ready_made()],
    record=record,
    finding=finding,
    figures=(
        Reshaped(
            Bars(
                "calls",
                label="workload",
                values=("times_the_calls",),
                title="Calls operator by operator on a GPU, in times those of an RDU with its layers looped",
                x_label="times the calls",
                log=True,
            ),
            by_calls,
        ),
        Reshaped(
            Bars(
                "time",
                label="workload",
                values=("gpu_library_us", "rdu_looped_us"),
                title=f"Time of one run, on as few machines as hold it: workloads of {MANY} calls or more",
                log=True,
            ),
            of_many_calls,
        ),
    ),
)

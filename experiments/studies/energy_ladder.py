"""The ladder from CPU to ASIC: what the lecture says of each, beside what the model's runs take of bare arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from experiments.plot.bars import Bars
from experiments.point import Point
from experiments.survey import Record, Survey

# The lecture's efficiencies, a CPU's being 1; an ASIC's is a range.
LADDER = (("CPU", 1), ("GPU", 10), ("TPU", 20), ("FPGA", 50))
ASIC = (100, 1000)
SAID = "the lecture's ladder, of an ASIC"
VECTOR_OP, GEMM, TOKEN, SOFTMAX = "vector op", "large GEMM", "decode token, Llama 3.1 8B", "softmax"
WORKLOADS = {GEMM: "gemm", TOKEN: "llama-3.1-8b", SOFTMAX: "softmax"}
LARGE = (("m", "8192"), ("n", "8192"), ("k", "8192"))
GPUS, RDU = ("h100_sxm", "h200", "b200"), "sn40l"
# Bare arithmetic at 7 nm (Jouppi et al., Ten Lessons, ISCA 2021, table 2), in picojoules: FLOP of a multiply of bf16
# and an add of fp32; the mean of an fp32 add and multiply; two fp32 multiply-adds, assumed for a special function.
MATRIX_PJ, VECTOR_PJ, SPECIAL_PJ = (0.21 + 0.38) / 2, (0.38 + 1.31) / 2, 2 * (0.38 + 1.31)
LANES = 32


@dataclass(frozen=True)
class Rung:
    """A rung of the lecture's ladder, by its efficiency beside a CPU's."""

    name: str
    efficiency: int


@dataclass(frozen=True)
class VectorOp:
    """One op of a vector unit's lane, with its share of an instruction where there is one."""

    machine: str


def cases() -> Iterator[Rung | VectorOp | Point]:
    """The rungs, a vector op of every machine, and every workload on each in the model's own mode."""
    yield from (Rung(*rung) for rung in LADDER)
    yield from map(VectorOp, (*GPUS, RDU))
    for what, workload in WORKLOADS.items():
        settings = LARGE if what == GEMM else ()
        yield from (Point(workload, machine, settings=settings) for machine in (*GPUS, RDU))


def record(case: Rung | VectorOp | Point) -> Record:
    """How many times the energy of its bare arithmetic a run takes; of a rung, how many times an ASIC's."""
    if isinstance(case, Rung):
        low, high = (end / case.efficiency for end in ASIC)
        return _row(SAID, case.name, None, (low, sqrt(low * high), high), None)
    return _vector_op(case.machine) if isinstance(case, VectorOp) else _run(case)


def _vector_op(machine: str) -> Record:
    """From a machine's prices: the op, and a thread's share of an instruction."""
    from experiments.sides import load_machine, machine_names

    prices = load_machine("gpu" if machine in machine_names("gpu") else "rdu", machine, {})
    op, issue = prices.vector_joules_per_op, prices.issue_joules_per_instruction or (0.0, 0.0, 0.0)
    assert op is not None, f"{machine} has energies"
    low, typical, high = (1e12 * (own + each / LANES) for own, each in zip(op, issue, strict=True))
    return _row(VECTOR_OP, machine, typical, (low / VECTOR_PJ, typical / VECTOR_PJ, high / VECTOR_PJ), 0.0)


def _run(point: Point) -> Record:
    """The energy of a run, beside that of the operations that its graph needs."""
    from experiments.point import run_point
    from patterns.counting.needed import needed_demand

    outcome = run_point(point)
    demand, energy = needed_demand(outcome.execution.plan.graph), outcome.report.energy
    assert energy is not None, f"{point.machine} has energies"
    ops = demand.matrix_flops + demand.vector_ops + demand.special_ops
    bare_j = 1e-12 * (demand.matrix_flops * MATRIX_PJ + demand.vector_ops * VECTOR_PJ + demand.special_ops * SPECIAL_PJ)
    times = (energy.low_j / bare_j, energy.typical_j / bare_j, energy.high_j / bare_j)
    off_chip = sum(part.typical_j for part in energy.parts if part.name in ("hbm", "ddr"))
    what = next(name for name, workload in WORKLOADS.items() if workload == point.workload)
    return _row(what, point.machine, 1e12 * energy.typical_j / ops, times, 100 * off_chip / energy.typical_j)


def _row(
    what: str, machine: str, pj: float | None, times: tuple[float, float, float], off_chip: float | None
) -> Record:
    return {
        "what": what,
        "machine": machine,
        "pj_per_op": pj,
        "times_bare_arithmetic": times[1],
        "low_times": times[0],
        "high_times": times[2],
        "off_chip_percent": off_chip,
    }


def finding(rows: Sequence[Record]) -> str:
    """Where GPUs are by the ladder above an ASIC, and where the model's runs are above their arithmetic."""
    low, high = _ladder(rows)
    told = []
    for what in (VECTOR_OP, *WORKLOADS):
        times = {row["machine"]: row["times_bare_arithmetic"] for row in rows if row["what"] == what}
        gpus = [times[machine] for machine in GPUS if machine in times]
        told.append(f"{what} {min(gpus):.3g} to {max(gpus):.3g} ({RDU} {times[RDU]:.3g})")
    return (
        f"By the ladder a GPU takes {low:.0f} to {high:.0f} times an ASIC's energy. In the model GPUs take so many"
        f" times that of bare arithmetic at 7 nm: {', '.join(told)}."
    )


def _ladder(rows: Sequence[Record]) -> tuple[float, float]:
    """How many times an ASIC's energy the lecture says that a GPU takes: from, to."""
    gpu = next(row for row in rows if (row["what"], row["machine"]) == (SAID, "GPU"))
    return gpu["low_times"], gpu["high_times"]


def details(rows: Sequence[Record]) -> str:
    """Where each of the model's runs is beside the ladder: below, in or beyond; and what crosses the chip's edge."""
    low, high = _ladder(rows)
    told = [_told([row for row in rows if row["what"] == what], what, low, high) for what in (VECTOR_OP, *WORKLOADS)]
    return (
        f"Times the bare arithmetic, beside the ladder's {low:.0f} to {high:.0f}. {'. '.join(told)}. An ASIC would have"
        " to pay for bytes from off the chip, too."
    )


def _told(rows: Sequence[Record], what: str, low: float, high: float) -> str:
    """'large GEMM: 3.3 on h100_sxm ..., the GPUs below that range, 4 to 12 % of it off the chip'."""
    gpus = [row["times_bare_arithmetic"] for row in rows if row["machine"] in GPUS]
    inside = [low <= one <= high for one in gpus]
    where = "in that range" if all(inside) else "partly in that range" if any(inside) else "beyond that range"
    where = "below that range" if max(gpus) < low else where
    each = ", ".join(f"{row['times_bare_arithmetic']:,.3g} on {row['machine']}" for row in rows)
    off_chip = [row["off_chip_percent"] for row in rows]
    crossing = f", {min(off_chip):.0f} to {max(off_chip):.0f} % of it off the chip" if any(off_chip) else ""
    return f"{what[:1].upper()}{what[1:]}: {each}, the GPUs {where}{crossing}"


STUDY = Survey(
    question="How far above the energy of their arithmetic do runs lie, beside the lecture's ladder from CPU to ASIC?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "energy_ladder",
            label="machine",
            values=("times_bare_arithmetic",),
            panel="what",
            title="Energy, in times that of the bare arithmetic (in the ladder: of an ASIC's, the middle of its range)",
            x_label="Times the energy of bare arithmetic",
            log=True,
        ),
    ),
    keys=2,
)

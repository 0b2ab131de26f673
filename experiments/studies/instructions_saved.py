"""What larger instructions save: counted for a tile and for whole kernels by how they load, and priced one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.point import Point
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from gpu_model.machine import Machine
    from patterns.energy import Range

TILE, KERNEL, ONE = "48 KB tile", "GEMM 4096 x 4096 x 4096", "one instruction"
# The lecture's tile: A of 128 rows and B of 256 columns, 64 of k, in bf16.
ROWS, COLUMNS, INNER, ELEMENT_BYTES, COPY_BYTES = 128, 256, 64, 2, 16
LANES = 32
LOADERS = ("registers", "cp_async", "tma")
H100, RDU = "h100_sxm", "sn40l"
SIZES = (("m", "4096"), ("n", "4096"), ("k", "4096"))
# What surrounds an instruction in percent of its arithmetic, as printed (Stanford CS149, hardware acceleration, after
# Dally): of a half-precision multiply-add, and of a matrix instruction of 4 x 4 x 4.
HFMA, HMMA = 2000.0, 27.0


@dataclass(frozen=True)
class TileLoad:
    """The tile brought into shared memory by one of the loaders."""

    machine: str
    loader: str


@dataclass(frozen=True)
class Instruction:
    """One instruction that computes: of the vector units, or the largest of the tensor core."""

    machine: str
    matrix: bool
    printed_percent: float | None = None


def cases() -> Iterator[TileLoad | Instruction | Point]:
    """Instructions one by one; the tile by each loader; a GEMM by each loader, and on an RDU."""
    yield Instruction("a100_sxm", matrix=False, printed_percent=HFMA)
    yield Instruction("a100_sxm", matrix=True, printed_percent=HMMA)
    yield from (Instruction(name, matrix=matrix) for name in (H100, "b200") for matrix in (False, True))
    yield from (TileLoad(H100, loader) for loader in LOADERS)
    for loader in LOADERS[1:]:
        yield Point("gemm", H100, schedule="warp_specialized", options=(("loader", loader),), settings=SIZES)
    yield Point("gemm", RDU, settings=SIZES)


def record(case: TileLoad | Instruction | Point) -> Record:
    """Instructions, what issuing them takes, and what the arithmetic takes that they are for."""
    if isinstance(case, TileLoad):
        return _tile(case)
    return _instruction(case) if isinstance(case, Instruction) else _kernel(case)


def _instruction(case: Instruction) -> Record:
    """An instruction and what it computes, at the machine's typical prices."""
    from gpu_model.energy import issuing_warps

    machine = _gpu(case.machine)
    flops = _matrix_flops(machine)
    issued = issuing_warps(machine) if case.matrix else 1
    matrix_j, vector_j = flops * _typical(machine.bf16_joules_per_flop), LANES * _typical(machine.vector_joules_per_op)
    arithmetic = matrix_j if case.matrix else vector_j
    how = f"matrix, {flops:,} FLOP" if case.matrix else "vector, 32 lanes"
    return _row(
        ONE,
        case.machine,
        how,
        issued,
        issued * _typical(machine.issue_joules_per_instruction),
        arithmetic,
        case.printed_percent,
    )


def _tile(case: TileLoad) -> Record:
    """One load an operand; the arithmetic is that of the tile's product."""
    from gpu_model.loader import loader_named

    machine = _gpu(case.machine)
    operands = (ROWS * INNER * ELEMENT_BYTES, COLUMNS * INNER * ELEMENT_BYTES)
    count = sum(loader_named(case.loader).instructions(machine, num_bytes) for num_bytes in operands)
    arithmetic = 2 * ROWS * COLUMNS * INNER * _typical(machine.bf16_joules_per_flop)
    issue = count * _typical(machine.issue_joules_per_instruction)
    return _row(TILE, case.machine, case.loader, count, issue, arithmetic, None)


def _kernel(point: Point) -> Record:
    """All instructions of a run, its matrix instructions and its epilogue's among them."""
    from experiments.point import run_point

    outcome = run_point(point)
    assert outcome.report.energy is not None, f"{point.machine} has energies"
    parts = {part.name: part for part in outcome.report.energy.parts}
    issue = parts.get("issue")
    how = dict(point.options).get("loader", f"RDU, {outcome.report.mode}")
    count, joules = (issue.num_events, issue.typical_j) if issue else (0, 0.0)
    return _row(KERNEL, point.machine, how, count, joules, parts["matrix"].typical_j, None)


def _gpu(name: str) -> Machine:
    from gpu_model import load_machine

    return load_machine(name)


def _matrix_flops(machine: Machine) -> int:
    """Of the largest matrix instruction of bf16."""
    return 2 * machine.mma_rows * machine.mma_most_columns * machine.mma_inner_bytes // ELEMENT_BYTES


def _typical(price: Range | None) -> float:
    """A price that the machine has."""
    assert price is not None, "the machine has energies"
    return price[1]


def _row(
    what: str, machine: str, how: str, count: int, issue_j: float, arithmetic_j: float, printed: float | None
) -> Record:
    return {
        "what": what,
        "machine": machine,
        "how": how,
        "instructions": count,
        "issue_nj": 1e9 * issue_j,
        "arithmetic_nj": 1e9 * arithmetic_j,
        "overhead_percent": 100 * issue_j / arithmetic_j,
        "printed_percent": printed,
    }


def finding(rows: Sequence[Record]) -> str:
    """What TMA saves of a tile and of a kernel."""
    at = {(row["what"], row["machine"], row["how"]): row for row in rows}
    tile = {loader: at[TILE, H100, loader] for loader in LOADERS}
    kernel = {loader: at[KERNEL, H100, loader] for loader in LOADERS[1:]}
    copies = (ROWS + COLUMNS) * INNER * ELEMENT_BYTES // COPY_BYTES
    saved = 100 * (1 - kernel["tma"]["instructions"] / kernel["cp_async"]["instructions"])
    before, after = kernel["cp_async"]["overhead_percent"], kernel["tma"]["overhead_percent"]
    return (
        f"A {TILE} is {copies:,} copies of {COPY_BYTES} bytes: {tile['cp_async']['instructions']} warp instructions"
        f" with cp.async, {tile['registers']['instructions']} through registers, {tile['tma']['instructions']} with"
        f" TMA, one an operand. Of a whole GEMM's instructions TMA saves {saved:.0f} %: from {before:.1f} % of the"
        f" energy of its arithmetic to {after:.1f} %."
    )


def details(rows: Sequence[Record]) -> str:
    """What issuing takes of a tile's energy, and what surrounds an instruction, by its size."""
    by_loader = {row["how"]: row["overhead_percent"] for row in rows if (row["what"], row["machine"]) == (TILE, H100)}
    ones = [row for row in rows if row["what"] == ONE]
    overheads = "; ".join(_overhead(row) for row in ones if row["printed_percent"] is not None or row is ones[-1])
    on_rdu = next(row for row in rows if row["machine"] == RDU)
    return (
        f"Issuing a tile's loads takes {by_loader['cp_async']:.1f} % of the energy of its arithmetic with cp.async,"
        f" {by_loader['tma']:.2f} % with TMA; an RDU issues {on_rdu['instructions']} instructions. What surrounds one"
        f" instruction, of its arithmetic: {overheads}."
    )


def _overhead(row: Record) -> str:
    printed = row["printed_percent"]
    beside = f" (printed, of an older one: {printed:,.0f} %)" if printed is not None else ""
    return f"{row['machine']} {row['how']} {row['overhead_percent']:,.1f} %{beside}"


STUDY = Survey(
    question="How many instructions do TMA and large matrix instructions save, and what is that in energy?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "instruction_overhead",
            label="how",
            values=("overhead_percent",),
            by="machine",
            panel="what",
            marks="printed_percent",
            title="Energy of issuing, in % of the arithmetic that it is for; crosses: printed",
            x_label="Of the arithmetic [%]",
            log=True,
        ),
    ),
    keys=3,
)

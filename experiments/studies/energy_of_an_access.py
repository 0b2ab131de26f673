"""The energy ladder of memory: an operation and 64 bits at each distance, as printed and as machines are priced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from patterns.energy import EnergyPrices

MACHINES = ("a100_sxm", "h100_sxm", "b200", "sn40l")
LECTURE, NM45, NM7 = "lecture", "45 nm", "7 nm"
SOURCES = {
    LECTURE: "Stanford CS149, hardware acceleration: operations alone, without their instructions",
    NM45: "Horowitz, Computing's Energy Problem, ISSCC 2014",
    NM7: "Jouppi et al., Ten Lessons, ISCA 2021, table 2",
}
OPERATION, ON_CHIP, OFF_CHIP, ISSUE = "operation", "64 bits on chip", "64 bits off chip", "instruction"
A_THREADS, A_LANES = "instruction of one thread", "vector op"
# The operation that others are counted in, by table; a machine's is its vector op.
UNIT = {LECTURE: "floating-point op", NM45: "fp32 multiply-add", NM7: "fp32 multiply-add"}
# What machines price, by field: kind of thing, its name, and how many of what is priced it is.
PRICED: Mapping[str, tuple[str, str, float]] = {
    "vector_joules_per_op": (OPERATION, A_LANES, 1.0),
    "bf16_joules_per_flop": (OPERATION, "bf16 multiply-add, matrix unit", 2.0),
    "issue_joules_per_instruction": (ISSUE, A_THREADS, 1 / 32),
    "smem_joules_per_byte": (ON_CHIP, "shared memory", 8.0),
    "onchip_joules_per_byte": (ON_CHIP, "PMU", 8.0),
    "l2_joules_per_byte": (ON_CHIP, "L2 to SM", 8.0),
    "hbm_joules_per_byte": (OFF_CHIP, "HBM", 8.0),
    "ddr_joules_per_byte": (OFF_CHIP, "DDR", 8.0),
}


@dataclass(frozen=True)
class Printed:
    """A printed energy, in picojoules; high_pj where a range is printed."""

    table: str
    kind: str
    what: str
    pj: float
    high_pj: float | None = None


@dataclass(frozen=True)
class Priced:
    """A price of a machine's file."""

    machine: str
    field: str


PRINTED = (
    Printed(LECTURE, OPERATION, "integer op", 1),
    Printed(LECTURE, OPERATION, "floating-point op", 20),
    Printed(LECTURE, ON_CHIP, "SRAM, 1 mm away", 26),
    Printed(LECTURE, OFF_CHIP, "LPDDR", 1200),
    Printed(NM45, OPERATION, "int8 multiply", 0.2),
    Printed(NM45, OPERATION, "fp32 add", 0.9),
    Printed(NM45, OPERATION, "fp32 multiply", 3.7),
    Printed(NM45, OPERATION, "fp32 multiply-add", 4.6),
    Printed(NM45, ON_CHIP, "SRAM", 2 * 5),
    Printed(NM45, OFF_CHIP, "DRAM", 2 * 640),
    Printed(NM7, OPERATION, "int8 multiply", 0.07),
    Printed(NM7, OPERATION, "bf16 multiply", 0.21),
    Printed(NM7, OPERATION, "fp32 add", 0.38),
    Printed(NM7, OPERATION, "fp32 multiply", 1.31),
    Printed(NM7, OPERATION, "fp32 multiply-add", 1.69),
    Printed(NM7, OFF_CHIP, "HBM2", 250, 450),
)


def cases() -> Iterator[Printed | Priced]:
    """What is printed, then what each machine's file has."""
    yield from PRINTED
    for name in MACHINES:
        prices = prices_of(name)
        yield from (Priced(name, field) for field in PRICED if getattr(prices, field) is not None)


def prices_of(machine: str) -> EnergyPrices:
    """What a GPU's or an RDU's file says of energy. Raises UnknownName."""
    from experiments.sides import load_machine, machine_names

    prices: EnergyPrices = load_machine("gpu" if machine in machine_names("gpu") else "rdu", machine, {})
    return prices


def record(case: Printed | Priced) -> Record:
    """The energy in picojoules: the middle of a printed range, or a price's typical value, and both ends."""
    if isinstance(case, Printed):
        high = case.high_pj or case.pj
        return _row(case.table, case.kind, case.what, (case.pj, (case.pj + high) / 2, high), SOURCES[case.table])
    kind, what, count = PRICED[case.field]
    low, typical, high = (1e12 * count * end for end in getattr(prices_of(case.machine), case.field))
    return _row(case.machine, kind, what, (low, typical, high), "the machine's file")


def _row(table: str, kind: str, what: str, pj: tuple[float, float, float], source: str) -> Record:
    return {
        "table": table,
        "kind": kind,
        "what": what,
        "pj": pj[1],
        "low_pj": float(pj[0]),
        "high_pj": float(pj[2]),
        "source": source,
    }


def finding(rows: Sequence[Record]) -> str:
    """How many operations an access off the chip is worth, in each table, and how much nearer ones save."""
    at = {(row["table"], row["what"]): row["pj"] for row in rows}
    tables = list(dict.fromkeys(row["table"] for row in rows))
    ops = {table: at[table, UNIT.get(table, A_LANES)] for table in tables}
    off, on = ({table: _dearest(rows, table, kind) for table in tables} for kind in (OFF_CHIP, ON_CHIP))
    counted = ", ".join(f"{off[table] / ops[table]:,.0f} ({table})" for table in tables)
    saved = {table: off[table] / on[table] for table in tables if on[table]}
    least, most = min(saved, key=lambda table: saved[table]), max(saved, key=lambda table: saved[table])
    return (
        f"64 bits from off the chip take as much energy as {counted} operations, and {saved[least]:.1f} ({least}) to"
        f" {saved[most]:.0f} times ({most}) as much as 64 bits from farthest away on the chip."
    )


def details(rows: Sequence[Record]) -> str:
    """What an instruction costs beside its arithmetic."""
    at = {(row["table"], row["what"]): row["pj"] for row in rows}
    issues = ", ".join(
        f"{pj / at[table, A_LANES]:.0f} on {table}" for (table, what), pj in at.items() if what == A_THREADS
    )
    return (
        f"To fetch, decode and issue an instruction takes a thread as much as so many vector operations: {issues}. An"
        " RDU in steady state issues none."
    )


def _dearest(rows: Sequence[Record], table: str, kind: str) -> float:
    return max((row["pj"] for row in rows if row["table"] == table and row["kind"] == kind), default=0.0)


STUDY = Survey(
    question="What does an operation take, and 64 bits from each distance, as printed and as machines are priced?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "energy_of_an_access",
            label="what",
            values=("pj",),
            by="kind",
            panel="table",
            title="Energy of an operation, of 64 bits, and of an instruction",
            x_label="Energy [pJ]",
            log=True,
        ),
    ),
    keys=3,
)

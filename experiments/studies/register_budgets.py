"""Registers by role: what setmaxnreg leaves consumers, and which tiles and which rows of a lecture an H100 holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.charting.reshape import Where
from experiments.plot.bars import Bars
from experiments.survey import Record, Survey

GPU = "h100_sxm"
TILES = ((64, 256), (128, 128), (128, 256), (256, 128), (192, 256), (256, 256))
CONSUMERS, MMA_ROWS = (1, 2, 3, 4), 64
SLOTS, STEP_K = 4, 64
# The tile that the lecture's rows compute.
TILE = (128, 256)
PRODUCERS = (24, 40)


@dataclass(frozen=True)
class Cta:
    """The CTA of tiles [rows, columns]: a schedule with so many warpgroups to a tile, and slots.

    row: of the lecture, '' where it has none.
    """

    rows: int
    columns: int
    schedule: str
    warpgroups: int
    slots: int
    row: str = ""


def cases() -> Iterator[Cta]:
    """Tiles by consumers beside a producer warpgroup, and the lecture's rows."""
    for rows, columns in TILES:
        # A consumer without 64 rows of its own would have nothing to do.
        for consumers in (count for count in CONSUMERS if count * MMA_ROWS <= rows):
            yield Cta(rows, columns, "cooperative" if consumers > 1 else "warp_specialized", consumers, SLOTS)
    for stages in (4, 5, 6):
        yield Cta(*TILE, "multistage", 2, stages, f"multistage, {stages} stages")
    yield Cta(*TILE, "register_double_buffer", 2, 2, "register double buffer")
    yield Cta(*TILE, "warp_specialized", 1, SLOTS, "one consumer")
    yield Cta(*TILE, "cooperative", 2, SLOTS, "cooperative")
    yield Cta(*TILE, "pingpong", 1, SLOTS, "ping-pong")


def record(case: Cta) -> Record:
    """Registers and shared memory that the CTA needs and may have, and what it lacks ('-': it fits)."""
    from gpu_model import load_machine
    from gpu_model.fit import most_for_role
    from gpu_model.occupancy.limits import WARPGROUP
    from gpu_model.occupancy.tile_cta import Tile, tile_demand

    machine = load_machine(GPU)
    tile = Tile(case.rows, case.columns, STEP_K)
    demand, misfit = tile_demand(machine, tile, case.schedule, case.slots, case.warpgroups)
    computing = demand.roles[-1]
    # Of the warpgroup with most blocks of rows.
    blocks = -(-case.rows // machine.mma_rows // case.warpgroups)
    accumulators = blocks * machine.mma_rows * case.columns // WARPGROUP
    groups = computing.threads // WARPGROUP if len(demand.roles) > 1 else 0
    return {
        "row": case.row or "-",
        "tile": f"{case.rows}x{case.columns}",
        "schedule": case.schedule,
        "consumers": groups or None,
        "slots": case.slots,
        "accumulators_per_thread": accumulators,
        "registers_per_thread": computing.registers,
        "most_registers_per_thread": most_for_role(computing, demand, machine),
        **splits(groups, accumulators),
        "smem_kib": demand.smem_bytes / 1024,
        "most_smem_kib": machine.smem_bytes_per_cta / 1024,
        "lacks": misfit.resource if misfit else "-",
    }


def splits(consumers: int, accumulators: int) -> Record:
    """What an even split leaves of the registers, and what setmaxnreg gives a consumer by what the producer keeps."""
    from gpu_model import load_machine
    from gpu_model.lecture.estimates import registers_left
    from gpu_model.occupancy.register_plan import consumer_registers, even_registers

    machine = load_machine(GPU)
    if not consumers:
        return {"even_split": None, "left_of_it": None, **{f"if_producer_has_{kept}": None for kept in PRODUCERS}}
    return {
        "even_split": even_registers(machine, consumers + 1),
        "left_of_it": registers_left(machine, consumers + 1, accumulators),
        **{f"if_producer_has_{kept}": consumer_registers(machine, consumers, kept) for kept in PRODUCERS},
    }


def finding(rows: Sequence[Record]) -> str:
    """What setmaxnreg moves, and how many of the lecture's rows fit."""
    swept, printed = ([row for row in rows if (row["row"] == "-") is kind] for kind in (True, False))
    two = next(row for row in swept if (row["tile"], row["consumers"]) == ("x".join(map(str, TILE)), 2))
    given = " or ".join(f"{two[f'if_producer_has_{kept}']} where the producer keeps {kept}" for kept in PRODUCERS)
    fit = sum(row["lacks"] == "-" for row in printed)
    return (
        f"Split evenly, each thread of a producer and two consumers has {two['even_split']} registers,"
        f" {two['left_of_it']} beside the accumulators of a tile of {two['tile']}; setmaxnreg gives a consumer {given}."
        f" Of the lecture's {len(printed)} rows an H100 holds {fit}."
    )


def details(rows: Sequence[Record]) -> str:
    """Which tiles fit with how many consumers, and which of the lecture's rows do not."""
    swept, printed = ([row for row in rows if (row["row"] == "-") is kind] for kind in (True, False))
    lacking = "; ".join(f"{row['row']} ({_lack(row)})" for row in printed if row["lacks"] != "-")
    return (
        f"By consumers an H100 holds, with {SLOTS} slots, {_fitting(swept)}. Of the lecture's {len(printed)} rows it"
        f" does not hold {lacking or 'none'}."
    )


def _fitting(rows: Sequence[Record]) -> str:
    """'128x128 with 1 or 2, 256x256 with no number': of consumers, by tile."""
    fits: dict[str, list[str]] = {row["tile"]: [] for row in rows}
    for row in rows:
        fits[row["tile"]] += [str(row["consumers"])] if row["lacks"] == "-" else []
    return ", ".join(f"{tile} with {' or '.join(counts) or 'no number'}" for tile, counts in fits.items())


def _lack(row: Record) -> str:
    """'288 registers a thread of 255'."""
    if "shared memory" in row["lacks"]:
        return f"{row['smem_kib']:.0f} KiB of shared memory, {row['most_smem_kib']:.0f} there"
    return f"{row['registers_per_thread']} registers a thread, {row['most_registers_per_thread']} there"


STUDY = Survey(
    question="What does setmaxnreg bring, which tiles does an H100 hold, and which rows of the lecture does it not?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Where(
            Bars(
                "registers",
                label="tile",
                values=("registers_per_thread",),
                by="consumers",
                bound="most_registers_per_thread",
                title="Registers of a consumer's thread, 4 slots; line: the most that it can have",
                x_label="Registers a thread",
            ),
            (("row", "-"),),
        ),
    ),
    keys=5,
)

"""Occupancy against the size of a matrix tile on an H100: what limits it, and why the emptiest SM is the busiest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.plot.heat_map import HeatMap
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from gpu_model.machine import Machine
    from gpu_model.occupancy.tile_cta import TileCta

GPU = "h100_sxm"
ROWS, COLUMNS = (64, 128, 256), (32, 64, 128, 256)
# Stages that hide a load in a CTA alone, as in the lecture.
STAGES, STEP_K = 3, 64
MEASURES = (
    "registers_per_thread",
    "smem_kib",
    "ctas",
    "warps",
    "occupancy_percent",
    "limit",
    "one_cta_tensor_core_percent",
    "tensor_core_percent",
    "load_path_percent",
)


@dataclass(frozen=True)
class TileSize:
    """An output tile [rows, columns] of bf16 operands, in a multistage pipeline."""

    rows: int
    columns: int
    stages: int = STAGES


def cases() -> Iterator[TileSize]:
    """Every tile, rows first."""
    return (TileSize(rows, columns) for rows in ROWS for columns in COLUMNS)


def record(case: TileSize) -> Record:
    """CTAs and warps of an SM and what limits them; and how busy the tensor core is with one and with all of them.

    None where not one CTA fits.
    """
    from gpu_model import load_machine
    from gpu_model.occupancy.tile_cta import Tile, tile_cta
    from gpu_model.options import Options
    from patterns.errors import DoesNotFit

    machine, tile = load_machine(GPU), Tile(case.rows, case.columns, STEP_K)
    named = {
        "rows": case.rows,
        "columns": case.columns,
        "flop_per_byte": 2 * case.rows * case.columns * STEP_K / tile.slot_bytes,
    }
    try:
        return named | measures(machine, tile_cta(machine, tile, "multistage", Options(case.stages)))
    except DoesNotFit as misfit:
        return named | dict.fromkeys(MEASURES) | {"ctas": 0, "warps": 0, "limit": misfit.resource}


def measures(machine: Machine, cta: TileCta) -> Record:
    """What an SM holds of a CTA, and how busy that keeps it."""
    from gpu_model.occupancy.hiding import hidden

    held, runs = cta.occupancy, hidden(machine, cta)
    found = (
        held.kernel.registers,
        held.kernel.smem_bytes / 1024,
        held.ctas_per_sm,
        held.warps_per_sm,
        100 * held.warps_per_sm * 32 / machine.threads_per_sm,
        held.limit,
        100 * runs[0].matrix_share,
        100 * runs[-1].matrix_share,
        100 * runs[-1].load_share,
    )
    return dict(zip(MEASURES, found, strict=True))


def finding(rows: Sequence[Record]) -> str:
    """The fullest and the busiest tile."""
    fit = [row for row in rows if row["ctas"]]
    fullest = max(fit, key=lambda row: row["occupancy_percent"])
    busiest = max(fit, key=lambda row: row["tensor_core_percent"])
    reuse = busiest["flop_per_byte"] / fullest["flop_per_byte"]
    return (
        f"The fullest SM, with tiles of {_size(fullest)} and {fullest['warps']} warps"
        f" ({fullest['occupancy_percent']:.0f} % of what it holds), has its tensor core busy"
        f" {fullest['tensor_core_percent']:.0f} % of the time and its load path {fullest['load_path_percent']:.0f} %."
        f" The busiest tensor core ({busiest['tensor_core_percent']:.0f} %) has tiles of {_size(busiest)} and"
        f" {busiest['warps']} warps, and does {reuse:.1f} times as much with a byte."
    )


def details(rows: Sequence[Record]) -> str:
    """What limits which tiles."""
    fit = [row for row in rows if row["ctas"]]
    limits = dict.fromkeys(row["limit"] for row in fit)
    told = [f"{limit}: {', '.join(_size(row) for row in fit if row['limit'] == limit)}" for limit in limits]
    told += [f"no CTA fits, by {row['limit']}: {_size(row)}" for row in rows if not row["ctas"]]
    return f"What limits the CTAs of an SM: {'; '.join(told)}."


def _size(row: Record) -> str:
    return f"{row['rows']}x{row['columns']}"


STUDY = Survey(
    question="How does the size of a matrix tile limit occupancy, and is a full SM a fast one?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        HeatMap("warps", x="columns", y="rows", value="warps", title="Warps of an SM, by tile"),
        HeatMap(
            "tensor_core",
            x="columns",
            y="rows",
            value="tensor_core_percent",
            title="Tensor core busy [%], by tile",
        ),
    ),
    keys=2,
)

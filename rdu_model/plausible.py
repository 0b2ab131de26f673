"""What is wrong with a machine file though every value has the right form: a grid that does not hold its units, a
memory without bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from patterns.energy import EnergyPrices, price_mistakes

if TYPE_CHECKING:
    from rdu_model.machine import Machine

# What an RDU spends energy on: no SMs, no products of bytes, and no instructions where PCUs are configured once.
PRICES = tuple(
    name for name in EnergyPrices.__dataclass_fields__ if not name.startswith(("smem", "l2", "issue", "fp8"))
)


def hint(name: str) -> str:
    """What is said of an unknown parameter beside its name."""
    if "peak" in name or "flops" in name:
        return "; a peak follows from pcus, pcu_lanes, pcu_stages, packed_macs, clock_hz; a multiply-add is 2 FLOP"
    return ""


def contradictions(machine: Machine) -> Iterator[tuple[str, str]]:
    """(field, message) for values that cannot be true together."""
    cells, units = machine.tiles * machine.tile_rows * machine.tile_columns, machine.pcus + machine.pmus
    if cells != units:
        yield (
            "tile_columns",
            f"{machine.tiles} tiles of {machine.tile_rows} x {machine.tile_columns} hold {cells:,} units, "
            f"and there are {machine.pcus:,} PCUs and {machine.pmus:,} PMUs: {units:,}",
        )
    if machine.tiles % machine.tiles_across:
        yield "tiles_across", f"{machine.tiles} tiles are no rectangle with {machine.tiles_across} side by side"


def impossible(machine: Machine) -> Iterator[tuple[str, str]]:
    """(field, message) for values of which nothing could come: a memory that holds bytes and moves none."""
    if machine.hbm_bytes and not machine.hbm_bytes_per_s:
        yield "hbm_bytes_per_s", "HBM that holds bytes needs a bandwidth; a machine without HBM has hbm_bytes: 0 B"
    yield from price_mistakes(machine, PRICES)

"""What is wrong with a machine file though every value has the right form: peaks of 2:4 sparsity, unknown features.

Peaks are dense everywhere. A peak is held against the time of one matrix instruction, which was measured: twice the
rate that follows from it is the peak that datasheets print in larger type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from patterns.energy import EnergyPrices, price_mistakes
from patterns.errors import did_you_mean

if TYPE_CHECKING:
    from gpu_model.machine import Machine

FEATURES = (
    "cp_async",
    "tma",
    "mma_sync",
    "wgmma",
    "setmaxnreg",
    "clusters",
    "pdl",
    "tmem",
    "tcgen05",
    "bf16",
    "fp8",
    "fp4",
    "multimem",
)
GHZ = 1e9
WARPGROUP = 128
# What a GPU spends energy on: it has neither PMUs nor DDR.
PRICES = tuple(name for name in EnergyPrices.__dataclass_fields__ if not name.startswith(("onchip", "ddr")))
# Bytes of an element by the parameter with the peak of its type.
PEAKS = (("bf16_flops_per_cycle", 2), ("fp8_flops_per_cycle", 1), ("tf32_flops_per_cycle", 4))


def hint(name: str) -> str:
    """What is said of an unknown parameter beside its name."""
    if "sparse" in name:
        return "; peaks are dense: no product of a graph is sparse, so a 2:4 sparse peak has no use"
    if "peak" in name or "flops_per_s" in name:
        return "; a peak is written as FLOP per cycle of one SM, dense: bf16_flops_per_cycle"
    return ""


def contradictions(machine: Machine) -> Iterator[tuple[str, str]]:
    """(field, message) for values that cannot be true together."""
    yield from _peaks(machine)
    if machine.smem_bytes_per_cta + machine.smem_reserved_bytes > machine.smem_bytes:
        yield (
            "smem_bytes_per_cta",
            f"a CTA may have {machine.smem_bytes_per_cta:,} bytes and {machine.smem_reserved_bytes:,} are reserved: "
            f"more than the SM's {machine.smem_bytes:,}",
        )


def impossible(machine: Machine) -> Iterator[tuple[str, str]]:
    """(field, message) for values of which nothing could come: features that nobody knows, no tiles, odd clocks."""
    for feature in machine.features:
        if feature not in FEATURES:
            near = did_you_mean(feature, FEATURES)
            yield "features", f"unknown feature {feature!r}{near}; there is: {', '.join(FEATURES)}"
    for field in ("tile_rows", "tile_columns"):
        if not getattr(machine, field):
            yield field, "at least one extent of a tile is due"
    if machine.threads_per_cta < WARPGROUP:
        yield "threads_per_cta", f"kernels have whole warpgroups of {WARPGROUP} threads"
    if machine.clock_droop_share >= 1:
        yield "clock_droop_share", "the share of a clock that is lost is below 1"
    if machine.node_gpus and not machine.node_network_bytes_per_s:
        yield "node_gpus", "a node ends there, and node_network_bytes_per_s does not say what goes on to others"
    yield from _clocks(machine)
    yield from price_mistakes(machine, PRICES)


def _clocks(machine: Machine) -> Iterator[tuple[str, str]]:
    """Where kernels run at a clock of their own, the datasheet's is between that and what load leaves of it."""
    boost_hz = machine.boost_clock_hz
    busy_hz = int(boost_hz * (1 - machine.clock_droop_share))
    if boost_hz and not busy_hz <= machine.clock_hz <= boost_hz:
        yield (
            "clock_hz",
            f"{machine.clock_hz / GHZ:.4g} GHz is not between the {busy_hz / GHZ:.4g} GHz of kernels that keep tensor "
            f"cores busy and boost_clock_hz, {boost_hz / GHZ:.4g} GHz, at which kernels run: set that too",
        )


def _peaks(machine: Machine) -> Iterator[tuple[str, str]]:
    """Dense peaks that the matrix instruction cannot reach."""
    if not machine.mma_instruction_cycles:
        return
    for field, element_bytes in PEAKS:
        rate = getattr(machine, field)
        inner = machine.mma_inner_bytes // element_bytes
        flops = 2 * machine.mma_rows * machine.mma_most_columns * inner
        most = flops // machine.mma_instruction_cycles
        if rate > most:
            shape = f"m{machine.mma_rows}n{machine.mma_most_columns}k{inner}"
            asked = "; is this the 2:4 sparse peak? Peaks here are dense" if rate == 2 * most else ""
            yield (
                field,
                f"{rate:,} FLOP/cycle are more than the {most:,} of an instruction {shape} in "
                f"{machine.mma_instruction_cycles} cycles{asked}",
            )

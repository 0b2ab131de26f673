"""The peaks of a GPU: dense ones of the types that it multiplies."""

from __future__ import annotations

from gpu_model.machine import load_machine
from gpu_model.plausible import FEATURES
from patterns.counting.peaks import Peaks


def peaks_of(name: str) -> Peaks:
    """The peaks of the machine `name`. Raises UnknownName."""
    machine = load_machine(name)
    there = [dtype for dtype in machine.flops_per_cycle if dtype not in FEATURES or dtype in machine.features]
    rates = ((dtype, machine.flops_per_cycle[dtype] * machine.sm_count * machine.clock_hz) for dtype in there)
    return Peaks(
        clock_hz=machine.clock_hz,
        flops_per_s=tuple(rates),
        derivation=f"{machine.sm_count} SMs x {machine.bf16_flops_per_cycle:,} FLOP/cycle",
        memory_bytes_per_s=machine.hbm_bytes_per_s,
        memory_efficiency=machine.hbm_efficiency,
        features=machine.features,
    )

"""The peaks of an RDU: what all its PCUs do as systolic arrays, and the memory that its calls stream from."""

from __future__ import annotations

from patterns.counting.peaks import Peaks
from rdu_model.machine import load_machine, macs_per_pcu


def peaks_of(name: str) -> Peaks:
    """The peaks of the machine `name`. Raises UnknownName."""
    machine = load_machine(name)
    return Peaks(
        clock_hz=machine.clock_hz,
        flops_per_s=(("bf16", machine.peak_flops_per_s),),
        derivation=f"{machine.pcus:,} PCUs x {2 * macs_per_pcu(machine):,} FLOP/cycle",
        memory_bytes_per_s=machine.hbm_bytes_per_s or machine.ddr_bytes_per_s,
        memory_efficiency=machine.hbm_efficiency if machine.hbm_bytes else machine.ddr_efficiency,
        memory="HBM" if machine.hbm_bytes else "DDR",
    )

"""cp.async: every thread copies 16 bytes from global to shared memory, past the registers."""

from __future__ import annotations

from gpu_model.loader import Level
from gpu_model.machine import Machine

NEEDS = ("cp_async",)
THROUGH: tuple[Level, ...] = ("l1", "smem")
ANYWHERE = True
KIB = 1024
# 32 threads of 16 bytes each.
INSTRUCTION_BYTES = 512


def issue_cycles(machine: Machine, num_bytes: int) -> int:
    """By the tile and by its bytes, rounded up."""
    return machine.cp_async_issue_cycles - -num_bytes * machine.cp_async_issue_cycles_per_kib // KIB


def instructions(machine: Machine, num_bytes: int) -> int:
    """One for every 512 bytes, rounded up."""
    return -(-num_bytes // INSTRUCTION_BYTES)

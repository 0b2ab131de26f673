"""Plain loads: every thread loads 16 bytes into registers, and stores them to shared memory when they are there."""

from __future__ import annotations

from gpu_model.loader import Level
from gpu_model.loaders import cp_async
from gpu_model.machine import Machine

NEEDS: tuple[str, ...] = ()
THROUGH: tuple[Level, ...] = ("l1", "registers", "smem")
ANYWHERE = True


def issue_cycles(machine: Machine, num_bytes: int) -> int:
    """As cp.async: a plain load takes the same way to the L2."""
    return cp_async.issue_cycles(machine, num_bytes)


def instructions(machine: Machine, num_bytes: int) -> int:
    """A load and a store for every 512 bytes, rounded up."""
    return 2 * cp_async.instructions(machine, num_bytes)

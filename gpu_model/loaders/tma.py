"""Tensor memory accelerator: one instruction of one thread moves a whole tile into shared memory."""

from __future__ import annotations

from gpu_model.loader import Level
from gpu_model.machine import Machine

NEEDS = ("tma",)
THROUGH: tuple[Level, ...] = ("smem",)
ANYWHERE = False
MULTICAST = True


def issue_cycles(machine: Machine, num_bytes: int) -> int:
    """The same for every tile."""
    return machine.tma_issue_cycles


def instructions(machine: Machine, num_bytes: int) -> int:
    """One, of one warp."""
    return 1

"""Homes: in which memory each tensor lies, and what a stream from or to it gets there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rdu_model.machine import Machine, Pace, ddr_pace, hbm_pace

Tier = Literal["hbm", "ddr"]


@dataclass(frozen=True)
class Homes:
    """ddr: the tensors (by the name that owns the storage) that lie in DDR; all others lie in the first memory."""

    ddr: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Memory:
    """A memory as streams see it. unit: its name in Programs and counters."""

    unit: Tier
    pace: Pace
    latency_cycles: int


@lru_cache(maxsize=64)
def first_memory(machine: Machine) -> Memory:
    """What sections stream from as a rule: HBM, or DDR where a machine has nothing else."""
    if machine.hbm_bytes:
        return Memory("hbm", hbm_pace(machine), machine.hbm_latency_cycles)
    return Memory("ddr", ddr_pace(machine), machine.ddr_latency_cycles)


def memory_of(machine: Machine, homes: Homes, storage: str) -> Memory:
    """The memory in which a tensor lies. storage: the name of the tensor that owns the storage."""
    if storage in homes.ddr:
        return Memory("ddr", ddr_pace(machine), machine.ddr_latency_cycles)
    return first_memory(machine)

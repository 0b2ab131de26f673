"""What a graph takes when it is replayed: its kernels one after another, with the gap that each waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpu_model import lower
from patterns.pipeline.simulate import simulate
from patterns.units import ticks

if TYPE_CHECKING:
    from gpu_model.machine import Machine
    from patterns.graph import Graph
    from patterns.plan import Call, Plan

MICROSECOND_PS = 10**6


def replayed_us(
    graph: Graph,
    machine: Machine,
    policy: str = "library",
    schedule: str = "auto",
    members: int = 1,
    options: Mapping[str, int | str] | None = None,
    gaps: bool = True,
) -> float:
    """Microseconds of one run of a graph, the launch of the replay itself left out; without gaps, of its kernels alone.

    Raises UserErrors.
    """
    plan = lower(
        graph, machine, policy=policy, schedule=schedule, launch="graph", members=members, options=options or {}
    )
    return sum(kernel_us(plan, call, gaps) for call in plan.calls)


def kernel_us(plan: Plan, call: Call, gaps: bool = True) -> float:
    """Microseconds of all launches of a call, with the gap before each launch."""
    cycles = simulate(call.program, spans=False).total_cycles
    gap_ps = plan.launch.device_ps if gaps else 0
    return call.count * (ticks(cycles, call.clock_hz) + gap_ps) / MICROSECOND_PS

"""Llama models on GPUs: plans and times of decode steps and prefills, each computed once in a process."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpu_model import lower
from patterns.library import workload
from patterns.run import run_plan

if TYPE_CHECKING:
    from gpu_model.machine import Machine
    from patterns.plan import Plan

MILLISECOND_PS = 10**9
POLICY = "library"


@lru_cache(64)
def decode_plan(model: str, batch: int, context: int, members: int, launch: str, machine: Machine) -> Plan:
    """One step of all sequences. Raises UserErrors."""
    graph = workload(model, phase="decode", batch=batch, context=context, members=members)
    return lower(graph, machine, policy=POLICY, launch=launch, members=members)


@lru_cache(1024)
def step_ms(model: str, batch: int, context: int, members: int, launch: str, machine: Machine) -> float:
    """Milliseconds of a decode step, its launch included. Raises UserErrors."""
    plan = decode_plan(model, batch, context, members, launch, machine)
    return run_plan(plan, spans=False).schedule.total_cycles / MILLISECOND_PS


@lru_cache(1024)
def prefill_ms(model: str, batch: int, tokens: int, members: int, machine: Machine) -> float:
    """Milliseconds of the prefill of `batch` prompts, its kernels launched one by one. Raises UserErrors."""
    graph = workload(model, phase="prefill", batch=batch, context=tokens, members=members)
    plan = lower(graph, machine, policy=POLICY, launch="stream", members=members)
    return run_plan(plan, spans=False).schedule.total_cycles / MILLISECOND_PS

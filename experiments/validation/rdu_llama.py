"""Llama models on RDUs: runs and times of decode steps and prefills, each computed once in a process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from patterns.library import workload
from patterns.run import run_plan
from rdu_model import lower

if TYPE_CHECKING:
    from patterns.graph import Graph
    from patterns.report import Execution
    from rdu_model.machine import Machine

MILLISECOND_PS = 10**9


@dataclass(frozen=True)
class Phase:
    """What a model does at once: `decode` (a token of each sequence) or `prefill` (all of `context`), on sockets."""

    model: str
    phase: str
    batch: int
    context: int
    sockets: int

    @property
    def graph(self) -> Graph:
        """The graph of one socket. Raises UserErrors."""
        return workload(self.model, phase=self.phase, batch=self.batch, context=self.context, members=self.sockets)


@lru_cache(64)
def executed(of: Phase, mode: str, orchestration: str, machine: Machine) -> Execution:
    """One run. Raises UserErrors."""
    plan = lower(of.graph, machine, mode=mode, orchestration=orchestration, members=of.sockets)
    return run_plan(plan, spans=False)


@lru_cache(1024)
def phase_ms(of: Phase, machine: Machine, mode: str = "looped", orchestration: str = "hardware") -> float:
    """Milliseconds of one run, its calls included. Raises UserErrors."""
    return executed(of, mode, orchestration, machine).schedule.total_cycles / MILLISECOND_PS


def calls_of(of: Phase, machine: Machine, mode: str) -> int:
    """Calls of one run. Raises UserErrors."""
    return sum(call.count for call in executed(of, mode, "hardware", machine).plan.calls)

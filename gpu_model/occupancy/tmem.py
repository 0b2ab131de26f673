"""Tensor memory: where Blackwell's matrix products leave their sums, 128 lanes by so many columns of fp32."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_model.machine import Machine
from gpu_model.occupancy.limits import allocated_tmem
from gpu_model.roles import needed
from gpu_model.work import Use, Work
from patterns.pipeline.script import Effect, Op, Start

ACCUMULATORS = "accumulators"
LANES = 128
# Accumulators that a thread of the epilogue holds at a time: it reads its lane in pieces, as CUTLASS's epilogue tiles.
READ_COLUMNS = 64


def columns_of(work: Work) -> int:
    """Columns that the sums of one tile take, rounded up to what can be allocated."""
    return allocated_tmem(max(1, -(-work.accumulators // LANES)))


def results_held(work: Work, machine: Machine) -> int:
    """Tiles whose sums tensor memory holds at once: two where they fit, so that one is read while the next is made."""
    return 2 if 2 * columns_of(work) <= machine.tmem_columns else 1


def allocated_columns(work: Work, machine: Machine) -> int:
    """Columns that a CTA allocates, once."""
    return columns_of(work) * results_held(work, machine)


def epilogue_registers(machine: Machine) -> int:
    """Registers of a thread that reads sums piece by piece."""
    return machine.registers_beside_accumulators + READ_COLUMNS


@dataclass(frozen=True)
class Multiplied:
    """One step in the issuing thread and the tensor core. cycles: from one to the next. latency_cycles: of one, from
    full slot to free slot."""

    cycles: int
    latency_cycles: int


def multiplied(work: Work, machine: Machine) -> Multiplied:
    """Steps follow each other at the pace of the slower of thread and tensor core; the commit of one comes later."""
    products = sum(use.cycles for use in work.step if use.unit == "tc")
    thread = machine.barrier_cycles + machine.mma_issue_cycles + work.step_cycles - products
    return Multiplied(max(products, thread), thread + products + machine.mma_wait_cycles)


def issued(uses: Iterable[Use], machine: Machine, then: tuple[Effect, ...]) -> tuple[Op, ...]:
    """Products started without waiting; once the commit of the last use has arrived, `then` happens."""
    *before, last = uses
    ops: list[Op] = [op for use in before for op in _one(use, machine)]
    issue = needed(Use("issue", machine.mma_issue_cycles, "issue mma"))
    wait = machine.mma_wait_cycles
    return (*ops, *issue, Start(last.unit, last.cycles, wait, then, label=last.label, counts=last.counts))


def _one(use: Use, machine: Machine) -> tuple[Op, ...]:
    if use.unit != "tc":
        return needed(use)
    return (
        *needed(Use("issue", machine.mma_issue_cycles, "issue mma")),
        Start(use.unit, use.cycles, label=use.label, counts=use.counts),
    )

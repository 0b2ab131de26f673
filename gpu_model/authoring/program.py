"""A kernel description as a Program for one SM, and as a Plan for a whole product: the template around its callbacks.

The finish block lies at the end of shared memory. Where it does not fit beside the ring it overlays the ring's last
stages: consumers then write results where operands were, so they enter it together, and the producer fills only the
stages outside it until they are done. A block's first stage is taken for the ring's first, as the template begins it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

from gpu_model.asked import Ask
from gpu_model.authoring.description import (
    ArriveFinished,
    Expect,
    KernelDescription,
    LoadAsync,
    MmaAB,
    MmaAsyncWait,
    StoreGlobal,
    StoreShared,
    SyncWarpgroup,
    TileOp,
)
from gpu_model.authoring.mistakes import check_description
from gpu_model.fit import misfit
from gpu_model.laid_out import lay_out
from gpu_model.lowering import lower
from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARPGROUP
from gpu_model.options import options_of
from gpu_model.policy import kernels, policy_named
from gpu_model.price import issue_cycles, mma, vector_cycles
from gpu_model.roles import MMA, RING, assemble, drain, hand_over, loop, meet, needed, ramp
from gpu_model.schedule import schedule_named
from gpu_model.work import Choice, CtaDemand, RoleDemand, Use, Wave, Work
from patterns.errors import UserError
from patterns.graph import Graph
from patterns.kind import has
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Acquire, Arrive, Await, Finish, Op, Release, Start, Wait, copy
from patterns.plan import Plan

TOGETHER, FINISHED = "together", "finished"
LOADER = "tma"
# The schedules whose tiles and traffic a described kernel has: of one consumer, and of several.
LIKE_ONE, LIKE_SEVERAL = "warp_specialized", "cooperative"


@dataclass(frozen=True)
class _Setting:
    """Where an operation is priced: a kernel on a machine, its work and wave, and which consumer it is of."""

    kernel: KernelDescription
    machine: Machine
    work: Work
    wave: Wave
    group: int = 0


def safe_stages(kernel: KernelDescription, machine: Machine) -> int:
    """Stages of the ring that the finish block does not overlay; all of them where both fit side by side."""
    room = machine.smem_bytes_per_cta - kernel.finish_bytes
    return max(0, min(kernel.pipe_stages, room // (kernel.stage_bytes + machine.barrier_bytes)))


def kernel_demand(kernel: KernelDescription, machine: Machine) -> CtaDemand:
    """Registers as the description sets them; the ring and its barriers, or the finish block if that is larger."""
    ring = kernel.pipe_stages * (kernel.stage_bytes + machine.barrier_bytes)
    roles = (
        RoleDemand("producer", WARPGROUP, kernel.producer_registers),
        RoleDemand("consumer", kernel.consumers * WARPGROUP, kernel.consumer_registers),
    )
    return CtaDemand(roles, max(ring, kernel.finish_bytes), setmaxnreg=True)


def kernel_plan(kernel: KernelDescription, graph: Graph, machine: Machine) -> Plan:
    """The description as the only kernel of a graph that is one matrix product.

    Raises UserError where it cannot run, DoesNotFit where the machine has no room for it.
    """
    check_description(kernel, machine)
    like = LIKE_ONE if kernel.consumers == 1 else LIKE_SEVERAL
    options = _options(kernel, schedule_named(like).WARPGROUPS[-1])
    ask = Ask(machine, like, options_of(options), 0, 0)
    groups = [(b, group) for b in graph.blocks for group in kernels(graph, b, ask, policy_named("pattern"))[0]]
    if len(groups) != 1 or not has(groups[0][1].nodes[0], "contracts"):
        nodes = ", ".join(node.name for _, group in groups for node in group.nodes)
        raise UserError(f"kernel {kernel.name} is one matrix product, and {graph.name} has the nodes {nodes}")
    plan = lower(graph, machine, policy="pattern", schedule=like, options=options)
    ((block, group),) = groups
    chosen = lay_out(graph, block, group, ask).chosen
    choice = Choice(kernel.pipe_stages, LOADER, kernel.consumers)
    why = misfit(f"kernel {kernel.name}", kernel_demand(kernel, machine), chosen.work, choice, machine)
    if why and machine.fit == "refuse":
        raise why
    # A kernel runs at its own clock, and so are its cycles.
    program = kernel_program(kernel, chosen.work.named(plan.calls[0].name), chosen.machine)
    described = f"{kernel.name} ({kernel.pipe_stages} slots, {LOADER}), as described"
    return replace(
        plan,
        calls=(replace(plan.calls[0], program=program, schedule=described),),
        warnings=tuple(dict.fromkeys([*plan.warnings, *([str(why)] if why else [])])),
    )


def _options(kernel: KernelDescription, most_warpgroups: int) -> dict[str, int | str]:
    """Extents of the block that one CTA computes, and its pipeline; whether its own consumers fit is asked apart."""
    products = [op for group in range(kernel.consumers) for op in kernel.compute_of(group) if isinstance(op, MmaAB)]
    first = products[0]
    return {
        "tile_m": sum(kernel.tile(op.a).rows for op in products),
        "tile_n": kernel.tile(first.b).columns,
        "tile_k": kernel.tile(first.a).columns,
        "slots": kernel.pipe_stages,
        "warpgroups": min(kernel.consumers, most_warpgroups),
    }


def kernel_program(kernel: KernelDescription, work: Work, machine: Machine) -> Program:
    """The template with the callbacks in it: a producer, and consumers that take every block together."""
    safe = safe_stages(kernel, machine)
    overlaid = safe < kernel.pipe_stages
    producer: tuple[Op, ...] = ramp(machine)
    for at, wave in enumerate(work.waves):
        load = _stage(_Setting(kernel, machine, work, wave))
        plain, held = loop(work.steps, load, "loads"), _around_finish(load, min(safe, work.steps), work.steps, kernel)
        first = 1 if at == 0 and overlaid else 0
        producer += loop(first, plain, "first tile") + loop(wave.tiles - first, held if overlaid else plain, "tiles")
    consumers = tuple(
        Role(f"consumer{group}", _consumer(kernel, work, machine, group, overlaid)) for group in range(kernel.consumers)
    )
    ring = Channel(RING, kernel.pipe_stages, kernel.consumer_arrivals, kernel.stage_bytes)
    barriers = (Barrier(TOGETHER), *((Barrier(FINISHED),) if overlaid else ()))
    return assemble(work.name, machine, (ring,), (Role("producer", producer), *consumers), barriers)


def _around_finish(load: tuple[Op, ...], safe: int, steps: int, kernel: KernelDescription) -> tuple[Op, ...]:
    """Stages outside the finish block, then all others once the finish before is done."""
    done = (Await(FINISHED, kernel.consumers),)
    return loop(safe, load, "safe stages") + done + loop(steps - safe, load, "loads")


def _stage(setting: _Setting) -> tuple[Op, ...]:
    """Wait for an empty stage; one thread issues all of its loads."""
    machine, kernel = setting.machine, setting.kernel
    issue = Use("issue", issue_cycles(machine, LOADER, kernel.stage_bytes), "issue")
    loads = tuple(op for tile_op in kernel.first_load for op in lowered(tile_op, setting))
    return (Acquire(RING), *hand_over(machine), *needed(issue), *loads)


def _consumer(kernel: KernelDescription, work: Work, machine: Machine, group: int, overlaid: bool) -> tuple[Op, ...]:
    together = meet(TOGETHER, kernel.consumers, machine)
    done = (Arrive(FINISHED),) if overlaid else ()
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        setting = _Setting(kernel, machine, work, wave, group)
        step = (Wait(RING, group), *hand_over(machine), *_all(kernel.compute_of(group), setting))
        tile = loop(work.steps, step, "compute") + together + _all(kernel.finish_of(group), setting) + together + done
        script += loop(wave.tiles, tile, "tiles")
    return script + (drain(machine) if group == kernel.consumers - 1 else ())


def _all(ops: Sequence[TileOp], setting: _Setting) -> tuple[Op, ...]:
    return tuple(op for tile_op in ops for op in lowered(tile_op, setting))


@singledispatch
def lowered(op: TileOp, setting: _Setting) -> tuple[Op, ...]:
    """A tile operation as ops of a script."""
    raise NotImplementedError(op)


@lowered.register
def _(op: Expect, setting: _Setting) -> tuple[Op, ...]:
    # The channel knows its slots' bytes.
    return ()


@lowered.register
def _(op: LoadAsync, setting: _Setting) -> tuple[Op, ...]:
    kernel, load = setting.kernel, setting.wave.load
    loads = [other for other in kernel.first_load if isinstance(other, LoadAsync)]
    before = sum(kernel.tile(other.into).num_bytes for other in loads[: loads.index(op)])
    num_bytes = kernel.tile(op.into).num_bytes
    part = load.between(before, before + num_bytes, kernel.stage_bytes)
    latency = setting.work.latency_cycles
    label = f"load {op.into.array}"
    return (copy(part.unit, part.cycles, latency, RING, num_bytes=num_bytes, label=label, counts=part.counts),)


@lowered.register
def _(op: MmaAB, setting: _Setting) -> tuple[Op, ...]:
    a, b = setting.kernel.tile(op.a), setting.kernel.tile(op.b)
    machine = setting.machine
    product = mma(machine, a.rows, b.columns, a.columns, a.dtype)
    issue = Use("issue", machine.mma_issue_cycles, "issue mma")
    counts = (("matrix_flops", product.flops),)
    return (*needed(issue), Start("tc", product.cycles, machine.mma_wait_cycles, (), MMA, "mma", counts))


@lowered.register
def _(op: MmaAsyncWait, setting: _Setting) -> tuple[Op, ...]:
    started = sum(isinstance(other, MmaAB) for other in setting.kernel.compute_of(setting.group))
    return (Finish(MMA),) * started


@lowered.register
def _(op: ArriveFinished, setting: _Setting) -> tuple[Op, ...]:
    return (Release(RING, setting.group),)


@lowered.register
def _(op: StoreShared, setting: _Setting) -> tuple[Op, ...]:
    tile = setting.kernel.tile(op.into)
    elements = tile.rows * tile.columns
    convert = Use("vector", vector_cycles(setting.machine, elements), "convert", (("vector_ops", elements),))
    return needed(convert)


@lowered.register
def _(op: SyncWarpgroup, setting: _Setting) -> tuple[Op, ...]:
    return hand_over(setting.machine)


@lowered.register
def _(op: StoreGlobal, setting: _Setting) -> tuple[Op, ...]:
    # A warpgroup's part of the block's store.
    at, of = setting.group, setting.kernel.consumers
    return needed(setting.wave.store.between(at, at + 1, of))

"""From a Graph to a Plan: fuse nodes into kernels, cut them into tiles, give them a schedule, and launch them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_model.asked import Ask
from gpu_model.call import call_of, combine_call
from gpu_model.choice.able_schedules import check_fixed
from gpu_model.choice.applies import check_applies, idle_options, unused
from gpu_model.joining.legal import Group
from gpu_model.l2_keep import Kept, kept_of
from gpu_model.l2_recent import recent
from gpu_model.laid_out import lay_out
from gpu_model.launch import LaunchMode, launch_named
from gpu_model.machine import Machine
from gpu_model.megakernel.tasks import page_misfit
from gpu_model.megakernel.together import Part, one_call
from gpu_model.nodes import joined
from gpu_model.operand_types import converted
from gpu_model.options import options_of
from gpu_model.policy import Policy, kernels, policy_named, together
from gpu_model.rates import rates
from gpu_model.schedule import AUTO
from patterns.counting.room import held_bytes, no_room
from patterns.errors import DoesNotFit, UserError
from patterns.graph import Block, Graph
from patterns.pipeline.hashed import changed
from patterns.plan import Call, Plan
from patterns.units import cycles_of_ps


def lower(
    graph: Graph,
    machine: Machine,
    *,
    policy: str = "library",
    schedule: str = AUTO,
    launch: str = "stream",
    members: int = 1,
    options: Mapping[str, int | str] | None = None,
    reasons: bool = True,
) -> Plan:
    """The graph of one of `members` GPUs as a sequence of kernels. Raises UnknownName, UserError, DoesNotFit.

    schedule: for kernels that it serves. options: for these, or all. reasons: to tell why kernels have their schedules.
    """
    # 1. A mistake in names and options is told before any work.
    check_applies(graph, schedule, machine := joined(machine, members))
    how, way = policy_named(policy), launch_named(launch, machine)
    ask = _ask(machine, schedule, way, kept := kept_of(graph, options_of(options or {}), machine), reasons)
    # 2. The graph must fit the memory, and should be of types that the machine multiplies.
    warnings = (*_too_large(graph, machine, members), *converted(graph, machine))
    # 3. Fuse each block's nodes into kernels, and lay each out. They are launched as often as the block is run.
    fused = [(block, *kernels(graph, block, ask, how)) for block in graph.blocks]
    parts = tuple(_laid_out(graph, block, groups, ask) for block, groups, _ in fused)
    calls = (one_call(graph, parts, ask.machine),) if together(how) else tuple(_calls(parts, ask.machine))
    warnings += (*_unasked(parts, ask), *_misfits(parts, how, machine), *no_room(graph, calls, machine.hbm_bytes))
    return Plan(
        machine=machine.name,
        family="gpu",
        mode=policy,
        members=members,
        graph=graph,
        calls=calls,
        launch=way.cost(machine),
        rates=rates(graph, machine),
        refusals=tuple(refusal for _, _, refused in fused for refusal in refused),
        warnings=tuple(dict.fromkeys(warnings)),
        kept_bytes=kept.num_bytes,
        prices=machine,
    )


def check_room(graph: Graph, machine: Machine, *, members: int = 1, **_: object) -> None:
    """Raises DoesNotFit where `lower` would for want of memory; much sooner than that."""
    tuple(_too_large(graph, machine, members))


def _laid_out(graph: Graph, block: Block, groups: tuple[Group, ...], ask: Ask) -> Part:
    """Each kernel with what the L2 has of the kernels before it."""
    found = zip(groups, recent(graph, block, groups, ask.machine), strict=True)
    asks = ((group, changed(ask, kept=ask.kept | names) if names else ask) for group, names in found)
    return Part(block, groups, tuple(lay_out(graph, block, group, asking) for group, asking in asks))


def _calls(parts: Iterable[Part], machine: Machine) -> Iterator[Call]:
    """A call for each kernel, and one for the kernel that puts its parts together if it has some."""
    for part in parts:
        for group, laid_out in zip(part.groups, part.laid_out, strict=True):
            asked, combine = laid_out.asked, laid_out.combine
            call = call_of(asked.what, part.block, group, laid_out.chosen, asked.members, machine)
            yield call
            if combine is not None:
                yield combine_call(f"{asked.what}.combine", part.block, call, combine)


def _unasked(parts: Iterable[Part], ask: Ask) -> Iterator[str]:
    """Warnings where a schedule was asked for that no kernel has, or an option that none has a use for."""
    laid_out = [one for part in parts for one in part.laid_out]
    yield from unused(ask.schedule, {one.chosen.schedule for one in laid_out})
    yield from idle_options(ask.options, [one.asked for one in laid_out])


def _misfits(parts: Iterable[Part], how: Policy, machine: Machine) -> Iterator[str]:
    """What does not fit where a machine only warns of it: kernels, and the pages of a megakernel."""
    pages = page_misfit(machine) if together(how) else None
    yield from (str(misfit) for misfit in (pages,) if misfit)
    for part in parts:
        yield from (str(laid_out.chosen.misfit) for laid_out in part.laid_out if laid_out.chosen.misfit)


def _ask(machine: Machine, schedule: str, way: LaunchMode, kept: Kept, reasons: bool) -> Ask:
    """What is asked of all kernels alike, with what the device takes between two of them and the host for each.

    Raises UserError for what the schedule cannot have.
    """
    check_fixed(schedule, kept.others)
    cost = way.cost(machine)
    gap, host = cycles_of_ps(cost.device_ps, machine.clock_hz), cycles_of_ps(cost.host_ps, machine.clock_hz)
    inside = kept.beside(way.inside(machine))
    return Ask(inside, schedule, kept.others, gap, host, kept.names, reasons)


def _too_large(graph: Graph, machine: Machine, members: int) -> Iterator[str]:
    """Raises DoesNotFit, or warns, where what the graph holds is more than the memory of one GPU."""
    if members < 1:
        raise UserError(f"{members} GPUs: at least 1 is needed")
    needed = held_bytes(graph)
    if needed > machine.hbm_bytes:
        help_text = f"at least {-(-needed * members // machine.hbm_bytes):,} GPUs would hold it"
        what = f"{graph.name} on {machine.name}"
        misfit = DoesNotFit(what, "bytes of memory", needed, machine.hbm_bytes, help_text, memory=True)
        if machine.fit == "refuse":
            raise misfit
        yield str(misfit)

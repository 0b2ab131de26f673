"""From a Graph to a Plan: fuse nodes into kernels, cut them into tiles, give them a schedule, and launch them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpu_model.asked import Asked
from gpu_model.call import call_of, combine_call
from gpu_model.choose import choose
from gpu_model.combine import choose_parts
from gpu_model.launch import launch_cost
from gpu_model.legal import Group
from gpu_model.machine import Machine
from gpu_model.options import Options, options_of
from gpu_model.policy import kernels, policy_named
from gpu_model.rates import rates
from gpu_model.schedule import AUTO, check_schedule
from gpu_model.space import spaces_of
from patterns.errors import DoesNotFit, UserError
from patterns.graph import Block, Graph
from patterns.kind import has
from patterns.plan import Call, Plan
from patterns.room import held_bytes, no_room
from patterns.units import cycles_of_ps


@dataclass(frozen=True)
class _Ask:
    """What a user asks of all kernels alike."""

    machine: Machine
    schedule: str
    options: Options
    gap_cycles: int


def lower(
    graph: Graph,
    machine: Machine,
    *,
    policy: str = "library",
    schedule: str = AUTO,
    launch: str = "stream",
    members: int = 1,
    options: Mapping[str, int | str] | None = None,
) -> Plan:
    """The graph as a sequence of kernels. `members` GPUs run it together; the graph is that of one of them.

    schedule is for the kernels that it serves, options (see options.OPTION_NAMES) for these or matrix products.
    Raises UnknownName, UserError, and DoesNotFit, which says what would fit.
    """
    # 1. Names and options first: a mistake in them is told before any work.
    check_schedule(schedule, machine)
    how, cost = policy_named(policy), launch_cost(launch, machine)
    ask = _Ask(machine, schedule, options_of(options or {}), cycles_of_ps(cost.device_ps, machine.clock_hz))
    # 2. The graph must fit the memory.
    warnings = [*_too_large(graph, machine, members)]
    # 3. Fuse each block's nodes into kernels.
    fused = [(block, *kernels(graph, block, machine, how)) for block in graph.blocks]
    # 4. Lay each kernel out, and launch it as often as its block is run.
    laid_out = [_calls(graph, block, group, ask) for block, groups, _ in fused for group in groups]
    calls = tuple(call for calls, _ in laid_out for call in calls)
    warnings += [*(warning for _, warned in laid_out for warning in warned), *no_room(graph, calls, machine.hbm_bytes)]
    # 5. Together they are the plan.
    return Plan(
        machine=machine.name,
        family="gpu",
        mode=policy,
        members=members,
        graph=graph,
        calls=calls,
        launch=cost,
        rates=rates(graph, machine),
        refusals=tuple(refusal for _, _, refused in fused for refusal in refused),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _calls(graph: Graph, block: Block, group: Group, ask: _Ask) -> tuple[list[Call], list[str]]:
    """A kernel's call, and that of the kernel which puts its parts together if it has some; and warnings."""
    name = call_name(block, group)
    asked = Asked(
        what=name,
        spaces=spaces_of(graph, group.nodes, group.inside, group.online),
        schedule=ask.schedule,
        options=ask.options,
        members=_members(graph, group),
        online=bool(group.online),
    )
    chosen, combine = (
        choose_parts(asked, ask.machine, ask.gap_cycles) if asked.online else (choose(asked, ask.machine), None)
    )
    call = call_of(name, block, group, chosen, asked.members, ask.machine)
    calls = [call] if combine is None else [call, combine_call(f"{name}.combine", block, call, combine, ask.machine)]
    return calls, [str(chosen.misfit)] if chosen.misfit else []


def call_name(block: Block, group: Group) -> str:
    """Block and nodes of a kernel: the first and the last name, or the only one."""
    first, last = group.names[0], group.names[-1]
    return f"{block.name}.{first}" if first == last else f"{block.name}.{first}..{last}"


def _members(graph: Graph, group: Group) -> int:
    """GPUs that the kernel's collective sums over: the extent that it names; 1 if it has none."""
    return max((graph.sizes[node.along] for node in group.nodes if has(node, "communicates")), default=1)


def _too_large(graph: Graph, machine: Machine, members: int) -> Iterator[str]:
    """Raises DoesNotFit, or warns, where what the graph holds is more than the memory of one GPU."""
    if members < 1:
        raise UserError(f"{members} GPUs: at least 1 is needed")
    needed = held_bytes(graph)
    if needed > machine.hbm_bytes:
        help_text = f"at least {-(-needed * members // machine.hbm_bytes):,} GPUs would hold it"
        misfit = DoesNotFit(f"{graph.name} on {machine.name}", "bytes of memory", needed, machine.hbm_bytes, help_text)
        if machine.fit == "refuse":
            raise misfit
        yield str(misfit)

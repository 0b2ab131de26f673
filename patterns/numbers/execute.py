"""Run a plan on numpy arrays: its calls, its tiles, its order. It must give the numbers of `evaluate`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from patterns.count import hidden
from patterns.graph import Block, Graph, Node
from patterns.numbers.memory import Memory, PerMember
from patterns.numbers.rounding import PRECISION, RoundedResults, kept_types
from patterns.numbers.split import Unmerged, combined, run_split
from patterns.numbers.tiles import PlanError
from patterns.plan import Call, Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray


def execute(
    plan: Plan,
    arrays: Mapping[str, NDArray[Any]],
    *,
    also: Iterable[str] = (),
    precision: str = "float64",
    rounding: RoundedResults | None = None,
) -> dict[str, NDArray[Any]]:
    """What `evaluate` gives, computed as the plan says: call by call, tile by tile, with `plan.members` in lockstep.

    rounding: which results of a call's nodes are rounded, as the machine does; then sums are fp32 (see rounding.py).
    Consecutive calls with the same block and count are repeated together. What a call hides nobody else can read.
    Raises UserError for wrong arrays, as evaluate does, and PlanError if the plan does not compute its graph: a node
    left out or run twice, a tile read before it is complete or not written exactly once, a partial result not merged.
    """
    given = PRECISION if rounding else precision
    memory = Memory(plan.graph, arrays, plan.members, given, rounds=rounding is not None)
    done = dict.fromkeys(plan.graph.block_named, 0)
    for block, calls in passes(plan):
        if block is None:
            _run_blocks(plan.graph, memory, calls, done, rounding)
            continue
        if done[block.name] == block.count:
            raise PlanError(f"block {block.name} is executed more than {block.count} times")
        _run_pass(plan.graph, memory, block, calls, done[block.name], rounding)
        done[block.name] += 1
        memory.carry(block)
        if done[block.name] == block.count:
            memory.leave(block)
    for name, times in done.items():
        if times != plan.graph.block_named[name].count:
            raise PlanError(f"block {name} is executed {times} times of {plan.graph.block_named[name].count}")
    return memory.results(also)


def passes(plan: Plan) -> Iterator[tuple[Block | None, tuple[Call, ...]]]:
    """One execution of a block after the other, with the calls that make it (None: a call that spans blocks)."""
    for (name, count), group in groupby(plan.calls, key=lambda call: (call.block, call.count)):
        calls = tuple(group)
        if name and name not in plan.graph.block_named:
            raise PlanError(f"calls are of block {name!r}, which the graph does not have")
        looped = [call for call in calls if call.iterations > 1]
        if looped and len(calls) > 1:
            raise PlanError(f"{looped[0].name} runs its block {looped[0].iterations} times, but not all of it")
        times = count * (calls[0].iterations if looped else 1)
        yield from [(plan.graph.block_named.get(name), calls)] * times


def _run_blocks(
    graph: Graph, memory: Memory, calls: tuple[Call, ...], done: dict[str, int], rounding: RoundedResults | None
) -> None:
    """Calls that span blocks: of each block in turn, all executions."""
    for call in calls:
        for block in graph.blocks:
            if not {node.name for node in block.nodes}.intersection(call.nodes):
                continue
            for execution in range(block.count):
                _run_pass(graph, memory, block, (_within(call, block),), execution, rounding)
                memory.carry(block)
            memory.leave(block)
            done[block.name] += block.count


def _within(call: Call, block: Block) -> Call:
    """The part of a call that is in a block: its nodes, and its nests, none of which may hold nodes of two blocks."""
    names = {node.name for node in block.nodes}
    nests = tuple(nest for nest in call.tiling.nests if names.issuperset(nest.nodes))
    return replace(call, tiling=replace(call.tiling, nests=nests))


def _run_pass(
    graph: Graph, memory: Memory, block: Block, calls: tuple[Call, ...], execution: int, rounding: RoundedResults | None
) -> None:
    """One execution of a block. Raises PlanError unless its nodes are run once each."""
    unmerged: dict[str, Unmerged] = {}
    ran: list[str] = []
    for call in calls:
        if call.combines:
            if call.combines not in unmerged:
                raise PlanError(f"{call.name} combines {call.combines!r}, which left nothing to merge")
            for name, arrays in combined(graph, unmerged.pop(call.combines)).items():
                memory.write(name, execution, arrays)
            continue
        by_name = {node.name: node for node in block.nodes}
        nodes = tuple(by_name[name] for name in call.nodes if name in by_name)
        ran += [node.name for node in nodes]
        left = _run_call(graph, memory, call, nodes, execution, rounding)
        if left is not None:
            unmerged[call.name] = left
    if sorted(ran) != sorted(node.name for node in block.nodes):
        odd = {node.name for node in block.nodes}.symmetric_difference(ran) or {n for n in ran if ran.count(n) > 1}
        raise PlanError(f"nodes of block {block.name} left out, foreign or run twice: {sorted(odd)}")
    if unmerged:
        raise PlanError(f"partial results of {sorted(unmerged)} are not merged")


def _run_call(
    graph: Graph, memory: Memory, call: Call, nodes: tuple[Node, ...], execution: int, rounding: RoundedResults | None
) -> Unmerged | None:
    """One call: what it makes visible, and what it leaves to be merged."""

    def read(name: str) -> PerMember:
        try:
            return memory.read(name, execution)
        except KeyError as error:
            raise PlanError(f"{call.name} reads {name}, which no call before it has made visible") from error

    inside = hidden(graph, [node.name for node in nodes])
    visible = tuple(node.writes for node in nodes if node.writes not in inside)
    made = run_split(graph, nodes, call.tiling, read, visible, kept_types(graph, nodes, rounding))
    for name, arrays in made.complete.items():
        memory.write(name, execution, arrays)
    return made if made.incomplete else None

"""Fusion policies: a file in fusion/ that joins nodes into kernels. The file's name is the policy's."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import lru_cache
from typing import Protocol, cast

from gpu_model.asked import Ask
from gpu_model.joining.decisions import Answers, Decisions, Facts
from gpu_model.joining.legal import Group, Grouping, separate
from patterns.graph import Block, Graph
from patterns.order import in_order
from patterns.plan import Refusal
from patterns.plugin import load_module, modules
from patterns.structure import structure_of

POLICIES = "gpu_model.fusion"
Kernels = tuple[tuple[Group, ...], tuple[Refusal, ...]]
Join = Callable[[Grouping], Grouping]


class Policy(Protocol):
    """RANK: how much it fuses; policies are listed by it. Where a file has TOGETHER, all its groups are one kernel.

    BY_STRUCTURE: of extents and the machine it knows only what `grouping.answers` gives (its graph has no extents), so
    it decides once for all contexts and batches of a model (see decisions.py).
    """

    RANK: int

    def fuse(self, grouping: Grouping) -> Grouping:
        """The grouping with groups of the block joined; every join is checked."""


def policy_names() -> tuple[str, ...]:
    """Every policy there is, from the one that fuses least."""
    return tuple(sorted(modules(POLICIES), key=lambda name: policy_named(name).RANK))


def policy_named(name: str) -> Policy:
    """The policy `name`. Raises UnknownName."""
    return cast(Policy, load_module(POLICIES, name, "policy"))


def together(policy: Policy) -> bool:
    """Whether all groups of a policy are tasks of one kernel."""
    return bool(getattr(policy, "TOGETHER", False))


def kernels(graph: Graph, block: Block, ask: Ask, policy: Policy) -> Kernels:
    """A block's kernels in an order in which they can run, and the joins that were refused and did not come later."""
    if getattr(policy, "BY_STRUCTURE", False):
        return _decisions(structure_of(graph), block.name, ask, cast(Hashable, policy)).at(Facts(graph, ask.machine))
    return _kernels(policy.fuse(separate(graph, block, ask)))


@lru_cache(maxsize=512)
def _decisions(structure: Graph, name: str, ask: Ask, policy: Policy) -> Decisions[Kernels]:
    """What a policy makes of the block `name` of all graphs of one structure."""
    block = structure.block_named[name]
    return Decisions(lambda answers: _kernels(policy.fuse(separate(structure, block, ask, answers))))


def joined(grouping: Grouping, join: Join) -> Grouping:
    """What `join` makes of a grouping whose nodes are all separate; as a policy BY_STRUCTURE, it decides once."""
    graph, ask = grouping.graph, grouping.ask
    decided = _joined(structure_of(graph), grouping.edges.block.name, ask, join)
    groups, refused = decided.at(Facts(graph, ask.machine))
    of = {name: group for group in groups for name in group.names}
    return replace(grouping, of={node.name: of[node.name] for node in grouping.nodes}, refused=refused)


@lru_cache(maxsize=512)
def _joined(structure: Graph, name: str, ask: Ask, join: Join) -> Decisions[Kernels]:
    block = structure.block_named[name]

    def decide(answers: Answers) -> Kernels:
        found = join(separate(structure, block, ask, answers))
        return found.groups(), found.refused

    return Decisions(decide)


def _kernels(grouping: Grouping) -> Kernels:
    together = {name: group for group in grouping.groups() for name in group.names}
    refused = (r for r in grouping.refused if any(together[name] is not together[r.nodes[0]] for name in r.nodes))
    return ordered(grouping), tuple(dict.fromkeys(refused))


def ordered(grouping: Grouping) -> tuple[Group, ...]:
    """The groups of a block in an order in which they can run."""
    by_name = {group.names[0]: group for group in grouping.groups()}
    needs = {}
    for name, group in by_name.items():
        makers = (grouping.maker(read) for node in group.nodes for read in node.reads)
        needs[name] = [maker.names[0] for maker in makers if maker is not None and maker is not group]
    for reader, overs in grouping.edges.over.items():
        for other in overs:
            needs[grouping.of[other].names[0]].append(grouping.of[reader].names[0])
    order, _ = in_order(needs)
    return tuple(by_name[name] for name in order)

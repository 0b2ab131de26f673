"""Fusion policies: a file in fusion/ that joins nodes into kernels. The file's name is the policy's."""

from __future__ import annotations

from typing import Protocol, cast

from gpu_model.asked import Ask
from gpu_model.legal import Group, Grouping, separate
from patterns.graph import Block, Graph
from patterns.order import in_order
from patterns.plan import Refusal
from patterns.plugin import load_module, modules

POLICIES = "gpu_model.fusion"


class Policy(Protocol):
    """RANK: how much it fuses; policies are listed by it. Where a file has TOGETHER, all its groups are one kernel."""

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


def kernels(graph: Graph, block: Block, ask: Ask, policy: Policy) -> tuple[tuple[Group, ...], tuple[Refusal, ...]]:
    """A block's kernels in an order in which they can run, and the joins that were refused and did not come later."""
    grouping = policy.fuse(separate(graph, block, ask))
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

"""A group of nodes laid out: its spaces in tiles with a schedule, in one kernel or in parts with one that combines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gpu_model.asked import Ask, Asked, Chosen
from gpu_model.choice.choose import choose
from gpu_model.joining.legal import Group, group_spaces
from gpu_model.machine import Machine
from gpu_model.products.combine import Combine, choose_parts
from patterns.graph import Block, Graph
from patterns.kind import has
from patterns.seen import part_with_rows


@dataclass(frozen=True)
class LaidOut:
    """A kernel as it will run, and the one that puts its parts together (None: it has none)."""

    asked: Asked
    chosen: Chosen
    combine: Combine | None

    @property
    def launches(self) -> int:
        """Kernels that it is."""
        return 1 if self.combine is None else 2

    @property
    def predicted_cycles(self) -> int:
        """Of its kernels, without the gaps before them."""
        return self.chosen.predicted_cycles + (self.combine.predicted_cycles if self.combine else 0)


def lay_out(graph: Graph, block: Block, group: Group, ask: Ask) -> LaidOut:
    """The fastest predicted. Raises DoesNotFit where none fits."""
    return _of_part(part_with_rows(graph, group.nodes), call_name(block, group), group, ask)


@lru_cache(maxsize=4096)
def _of_part(part: Graph, name: str, group: Group, ask: Ask) -> LaidOut:
    """Memo of `lay_out`: graphs that agree in what a group costs by share it."""
    spaces = group_spaces(part, group)
    asked = Asked(
        what=name,
        spaces=spaces,
        schedule=ask.schedule,
        options=ask.options,
        members=_members(part, group),
        online=bool(group.online),
        kept=ask.kept.intersection(access.tensor for space in spaces for access in space.reads),
        reasons=ask.reasons,
    )
    return _laid_out(asked, ask.machine, ask.gap_cycles)


@lru_cache(maxsize=2048)
def _laid_out(asked: Asked, machine: Machine, gap_cycles: int) -> LaidOut:
    """Memo of `lay_out`: kernels of other graphs, blocks and policies that ask for the same share it."""
    if asked.online or asked.is_product or asked.only_reduces:
        return LaidOut(asked, *choose_parts(asked, machine, gap_cycles))
    return LaidOut(asked, choose(asked, machine), None)


def call_name(block: Block, group: Group) -> str:
    """Block and nodes of a kernel: the first and the last name, or the only one."""
    first, last = group.names[0], group.names[-1]
    return f"{block.name}.{first}" if first == last else f"{block.name}.{first}..{last}"


def _members(graph: Graph, group: Group) -> int:
    """GPUs that the kernel's collective sums over: the extent that it names; 1 if it has none."""
    return max((graph.sizes[node.along] for node in group.nodes if has(node, "communicates")), default=1)

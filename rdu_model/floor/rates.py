"""How fast bytes flow in a section, as its stages and its memory allow: what place and route plan for.

Loops that follow one another, and stages outside loops that wait for one another, are phases: a flow has its bytes
spread over the time that its phase works. Streams that belong to no loop flow all the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rdu_model.flow import Flow
from rdu_model.lanes import memory_for
from rdu_model.pipe import ITERATION, Load, Placed, Store, reads_of
from rdu_model.section import Section
from rdu_model.work import stage_cycles

# The phase of streams outside loops.
ALWAYS = "always"


@dataclass(frozen=True)
class Rates:
    """phases: of each leaf. cycles: of all executions of each phase; ALWAYS is the whole section."""

    phases: Mapping[str, str]
    cycles: Mapping[str, int]

    def per_cycle(self, leaf: str, moved: int) -> float:
        """Bytes in a cycle of a leaf that moves so many bytes in the whole run."""
        return moved / self.cycles[self.phases[leaf]]


def rates_of(section: Section) -> Rates:
    """When each leaf of a section works, and for how long."""
    # No way holds anything up: it is the ways that are to be planned.
    section = replace(section, wires={})
    flow = section.flow
    levels = _levels(section)
    loops: dict[str, str] = {}
    phases = {name: _phase(section, found, levels[name], loops) for name, found in flow.leaves.items()}
    cycles: dict[str, int] = {}
    streamed: dict[str, int] = {}
    for name, found in flow.leaves.items():
        phase = phases[name]
        if name in section.groups:
            cycles[phase] = max(cycles.get(phase, 1), stage_cycles(section, name) * flow.tiles_of(name))
        else:
            tensor = found.leaf.tensor if isinstance(found.leaf, Load | Store) else ""
            needed = memory_for(section, tensor).pace.cycles_for(moved_bytes(section, name))
            streamed[phase] = streamed.get(phase, 0) + needed
    for phase, needed in streamed.items():
        cycles[phase] = max(cycles.get(phase, 1), needed)
    in_turn = sum(needed for phase, needed in cycles.items() if phase != ALWAYS)
    cycles[ALWAYS] = max(1, in_turn, sum(streamed.values()))
    return Rates(phases, cycles)


def moved_bytes(section: Section, name: str) -> int:
    """Bytes that a leaf brings, makes or stores in the whole run."""
    flow = section.flow
    leaf = flow.leaves[name].leaf
    if isinstance(leaf, Load):
        return flow.streamed[name]
    made = leaf.source if isinstance(leaf, Store) else name
    return _made_bytes(flow, made, name) * flow.tiles_of(name)


def _made_bytes(flow: Flow, made: str, at: str) -> int:
    """Bytes that a node makes in one full step of the pipes around a leaf."""
    # What only says how a buffer is read is no leaf.
    same = made in flow.leaves and flow.full_sizes[made] is flow.full_sizes[at]
    return flow.touched[made][1] if same else flow.asked[made].touched(flow.full_sizes[at])[1]


def _phase(section: Section, found: Placed, level: int, loops: dict[str, str]) -> str:
    """The loop, by its number in the section, or how far behind the first stage a leaf outside loops is."""
    if any(pipe.dim != ITERATION for pipe in found.path):
        return loops.setdefault(section.flow.phase_of(found.name), f"loop {len(loops) + 1}")
    return ALWAYS if isinstance(found.leaf, Load | Store) else f"level {level}"


def _levels(section: Section) -> dict[str, int]:
    """How many stages a leaf is behind the first, along the longest way."""
    flow, levels = section.flow, dict[str, int]()
    for name, found in flow.leaves.items():
        sources = [flow.roots[source] for source in reads_of(found.leaf)]
        levels[name] = 1 + max((levels.get(source, 0) for source in sources), default=0)
    return levels

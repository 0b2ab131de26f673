"""Sections: as much of a block as the fabric holds at once is one; a block that needs more is cut.

A cut costs one call and its tensors twice in off-chip bytes: written by one section, read by the next. Sections are as
long as they fit, or end where fewer bytes cross, whichever costs less to the end of the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

from patterns.count import tensor_bytes
from patterns.graph import Block, Graph
from rdu_model.ask import Asked, ask
from rdu_model.buffers import Group, buffers, group
from rdu_model.connect import connect
from rdu_model.flow import Flow, take_apart
from rdu_model.homes import Homes
from rdu_model.machine import Machine, hbm_pace, usable_pcus
from rdu_model.parallelize import Task, allocate
from rdu_model.pipe import Metapipe, Stage
from rdu_model.price import grid
from rdu_model.section import Section
from rdu_model.shortage import Shortage, Stop, refuse
from rdu_model.tiling import choose_tiles, shape_section, without_single_steps

# How often tiles are chosen again, with less room to plan with, when the buffers turn out too large.
ATTEMPTS = 5


@dataclass(frozen=True)
class Piece:
    """What is to become one section: consecutive nodes of a block, `iterations` executions in one call.

    homes: in which memory the graph's tensors lie.
    """

    graph: Graph
    block: Block
    nodes: tuple[str, ...]
    iterations: int
    members: int
    homes: Homes = field(default_factory=Homes)


def build(piece: Piece, machine: Machine) -> Section | Shortage:
    """A piece as one section, or what it lacks. Tiles that take too many PMUs are chosen again for less room."""
    wanted = set(piece.nodes)
    asked = {node.name: ask(piece.graph, node) for node in piece.block.nodes if node.name in wanted}
    name = piece.block.name if len(wanted) == len(piece.block.nodes) else f"{piece.block.name}.{piece.nodes[0]}"
    room = machine.pmus * machine.pmu_bytes
    best: Section | None = None
    shaped = shape_section(list(asked.values()), piece.graph.sizes, machine)
    for _ in range(ATTEMPTS):
        tiles = choose_tiles(shaped, room)
        shape = without_single_steps(shaped.shape, piece.graph.sizes, tiles)
        metapipe = connect(name, piece.graph, piece.block, asked, shape, tiles, piece.iterations)
        built = spread_out(metapipe, machine, piece.members, asked, piece.homes)
        if isinstance(built, Section):
            if best is None or built.lacking_pmus < best.lacking_pmus:
                best = built
            if not built.lacking_pmus:
                return built
            room = room * machine.pmus // (machine.pmus + built.lacking_pmus)
        elif built.resource == "PMUs":
            room = room * built.available * 9 // (built.needed * 10)
        else:
            return built
    return best or built


def spread_out(
    metapipe: Metapipe,
    machine: Machine,
    members: int,
    asked: dict[str, Asked] | None = None,
    homes: Homes | None = None,
) -> Section | Shortage:
    """A metapipe with PCUs for its stages and PMUs for its buffers, or what it lacks."""
    flow = take_apart(metapipe, asked)
    stages = _stages(flow)
    given = {name: stage.pcus for name, stage in stages.items() if stage.pcus}
    free = [name for name in stages if name not in given and flow.asked[name].unit_class in ("matrix", "vector")]
    left = usable_pcus(machine) - sum(given.values())
    if len(free) > left:
        greatest = max(stages, key=lambda name: stages[name].pcus)
        needed = len(free) + sum(given.values())
        return Shortage("PCUs", needed, usable_pcus(machine), greatest, max(1, stages[greatest].pcus))
    tasks = [
        Task(grid(flow.asked[name], flow.sizes_at(name), machine), flow.tiles_of(name), flow.phase_of(name))
        for name in free
    ]
    pcus = given | dict(zip(free, allocate(tasks, left), strict=True))
    groups: dict[str, Group] = {name: group(flow, name, pcus.get(name, 0), machine) for name in stages}
    found = buffers(flow, groups, machine)
    if isinstance(found, Shortage):
        return found
    return Section(flow, groups, found.of_links, found.carried, found.lacking, machine, members, homes or Homes())


def _stages(flow: Flow) -> dict[str, Stage]:
    return {name: found.leaf for name, found in flow.leaves.items() if isinstance(found.leaf, Stage)}


@dataclass(frozen=True)
class Part:
    """A section of a piece. stopped: why it holds no more of its nodes, None where it holds the last of them."""

    section: Section
    stopped: Stop | None


def cut(piece: Piece, machine: Machine, call_cycles: int) -> tuple[tuple[Part, ...], Shortage | None]:
    """The sections of a piece, and what it lacks to be one. Raises DoesNotFit for a node that fits no section."""
    whole = build(piece, machine)
    if isinstance(whole, Section):
        return (Part(whole, None),), None
    if len(piece.nodes) == 1:
        raise refuse(piece.graph, whole, f"alone in a section of {machine.name}")
    return _Cutting(piece, machine, call_cycles).best(), whole


@dataclass(frozen=True)
class _Cutting:
    """Finds cheap cuts: from each place that is reached, the longest section that fits, and the cheapest to end it."""

    piece: Piece
    machine: Machine
    call_cycles: int
    built: dict[tuple[int, int], Section | Shortage] = field(default_factory=dict)
    known: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)

    def best(self) -> tuple[Part, ...]:
        """The sections of the cheapest way that was found."""
        _, ends = self._from(0)
        found = [(self._section(start, end), self._stop(start, end)) for start, end in pairwise((0, *ends))]
        return tuple(Part(section, stop) for section, stop in found if isinstance(section, Section))

    def _stop(self, start: int, end: int) -> Stop | None:
        if end == len(self.piece.nodes):
            return None
        longer = self._section(start, end + 1)
        return Stop(self.piece.nodes[end], longer if isinstance(longer, Shortage) else None)

    def _from(self, start: int) -> tuple[int, tuple[int, ...]]:
        """The least cycles of calls and cut edges from a node on, and where its sections end."""
        if start == len(self.piece.nodes):
            return 0, ()
        if start not in self.known:
            ways = []
            for end in self._ends(start):
                cycles, ends = self._from(end)
                ways.append((self.call_cycles + self._edge(end) + cycles, (end, *ends)))
            self.known[start] = min(ways)
        return self.known[start]

    def _ends(self, start: int) -> list[int]:
        """Where a section that starts here may end: as late as it fits, or where the fewest bytes cross."""
        furthest = self._furthest(start)
        if furthest == len(self.piece.nodes):
            return [furthest]
        cheapest = min(range(furthest, start, -1), key=self._edge)
        return [furthest, cheapest] if cheapest != furthest and self._fits(start, cheapest) else [furthest]

    def _section(self, start: int, end: int) -> Section | Shortage:
        if (start, end) not in self.built:
            piece = replace(self.piece, nodes=self.piece.nodes[start:end])
            self.built[start, end] = build(piece, self.machine)
        return self.built[start, end]

    def _fits(self, start: int, end: int) -> bool:
        return isinstance(self._section(start, end), Section)

    def _furthest(self, start: int) -> int:
        """The longest section from here, by halving: what fits, fits with fewer nodes as a rule."""
        fits, fails = start, len(self.piece.nodes) + 1
        while fails - fits > 1:
            end = (fits + fails) // 2 if fits > start or fails <= len(self.piece.nodes) else len(self.piece.nodes)
            if self._fits(start, end):
                fits = end
            else:
                fails = end
        if fits == start:
            alone = self._section(start, start + 1)
            assert isinstance(alone, Shortage)
            raise refuse(self.piece.graph, alone, f"alone in a section of {self.machine.name}")
        return fits

    def _edge(self, at: int) -> int:
        """Cycles of the bytes that a cut before node `at` writes and reads again."""
        before, after = set(self.piece.nodes[:at]), set(self.piece.nodes[at:])
        graph = self.piece.graph
        made = {node.writes for node in self.piece.block.nodes if node.name in before}
        crossing = {
            name for node in self.piece.block.nodes if node.name in after for name in node.reads if name in made
        }
        return hbm_pace(self.machine).cycles_for(2 * sum(tensor_bytes(graph, name) for name in crossing))

"""Nodes of a block as one section: a metapipe with PCUs for its stages and PMUs for its buffers, or what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from patterns.graph import Block, Graph, Node
from rdu_model.ask import Asked, ask_all
from rdu_model.banks import map_to_banks
from rdu_model.buffers import Group, buffers, group
from rdu_model.connect import connect
from rdu_model.floor.ports import lacking_ports
from rdu_model.flow import Flow, take_apart
from rdu_model.homes import Homes
from rdu_model.machine import Machine, usable_pcus
from rdu_model.parallelize import Task, allocate
from rdu_model.pipe import Metapipe, Stage
from rdu_model.price import grid
from rdu_model.section import Section
from rdu_model.shortage import Shortage
from rdu_model.tiles.nests import without
from rdu_model.tiles.predict import predict
from rdu_model.tiles.sketch import Sketch, Within, single_steps
from rdu_model.tiles.tiling import MANY_NODES, shapes_of, tile

# How often tiles are chosen, again with less room to plan with where the buffers turn out too large; of sections with
# very many nodes, where each time takes long, less often.
ATTEMPTS = 5
ATTEMPTS_LARGE = 2
# Execution n + 1 begins while execution n ends: what one hands to the next has two slots.
CARRY_SLOTS = 2


@dataclass(frozen=True)
class Piece:
    """What is to become one section: nodes of a block, in its order, `iterations` executions in one call.

    homes: in which memory the graph's tensors lie. spilled: what iterations hand on through off-chip memory, by its
    name inside.
    """

    graph: Graph
    block: Block
    nodes: tuple[Node, ...]
    iterations: int
    members: int
    homes: Homes = field(default_factory=Homes)
    spilled: frozenset[str] = frozenset()


def build(piece: Piece, machine: Machine) -> Section | Shortage:
    """A piece as one section, or what it lacks. Tiles that take too many PMUs are chosen again for less room."""
    asked = ask_all(piece.graph, piece.nodes)
    working = [name for name, found in asked.items() if found.unit_class in ("matrix", "vector")]
    if len(working) > usable_pcus(machine):
        return Shortage("PCUs", len(working), usable_pcus(machine), working[0], 1)
    whole = len(asked) == len(piece.block.nodes)
    name = piece.block.name if whole else f"{piece.block.name}.{piece.nodes[0].name}"
    everything = room = machine.pmus * machine.pmu_bytes - _carried_bytes(piece, asked)
    repeated = piece.iterations > 1 and bool(piece.block.carried)
    best: Section | None = None
    least = inf
    before: tuple[Sketch, dict[int, int]] | None = None
    tilings = 0
    shapes = shapes_of(piece.graph, piece.block, piece.nodes, machine, piece.homes)
    for _ in range(ATTEMPTS if len(asked) <= MANY_NODES else ATTEMPTS_LARGE):
        shaped, tiles = tile(shapes, Within(room, repeated))
        shapes = (shaped,)
        cycles = predict(shaped, tiles, Within(everything, repeated))
        if cycles >= least:
            break
        if (shaped, tiles) != before:  # the same tiles in less room are the same section
            shape = without(shaped.shape, single_steps(shaped, tiles))
            metapipe = connect(name, piece.graph, piece.block, asked, shape, tiles, piece.iterations, piece.spilled)
            built = spread_out(metapipe, machine, piece.members, asked, piece.homes)
            before = shaped, tiles
            tilings += 1
        if isinstance(built, Section):
            # Where buffers lack PMUs, stages are slower by about as much.
            slower = cycles * (1 + built.lacking_pmus / machine.pmus)
            if slower < least:
                best, least = built, slower
            if not built.lacking_pmus:
                break
            room = room * machine.pmus // (machine.pmus + built.lacking_pmus)
        elif built.resource == "PMUs":
            room = room * built.available * 9 // (built.needed * 10)
        else:
            break
    return best or (replace(built, tilings=tilings) if isinstance(built, Shortage) else built)


def _carried_bytes(piece: Piece, asked: Mapping[str, Asked]) -> int:
    """Bytes of the buffers of what one execution in a call hands to the next on the chip."""
    if piece.iterations == 1:
        return 0
    handed = {result for inside, result in piece.block.carried if inside not in piece.spilled}
    made = [one for one in asked.values() if one.node.writes in handed and not one.over]
    return CARRY_SLOTS * sum([one.touched(piece.graph.sizes)[1] for one in made])


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
        Task(grid(flow.asked[name], flow.full_sizes[name], machine), flow.tiles_of(name), flow.phase_of(name))
        for name in free
    ]
    pcus = given | dict(zip(free, allocate(tasks, left), strict=True))
    grids = {name: task.work for name, task in zip(free, tasks, strict=True)}
    groups: dict[str, Group] = {name: group(flow, name, pcus.get(name, 0), machine, grids.get(name)) for name in stages}
    found = buffers(flow, groups, machine)
    if isinstance(found, Shortage):
        return found
    spare = machine.pmus - found.carried - sum(buffer.pmus for buffer in found.of_links)
    of_links = map_to_banks(found.of_links, spare, machine)
    section = Section(flow, groups, of_links, found.carried, found.lacking, machine, members, homes or Homes())
    return lacking_ports(section) or section


def _stages(flow: Flow) -> dict[str, Stage]:
    return {name: found.leaf for name, found in flow.leaves.items() if isinstance(found.leaf, Stage)}

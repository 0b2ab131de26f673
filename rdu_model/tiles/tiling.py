"""Tiling: a section's nodes as nested loops with tiles, and from them its metapipe with loads and stores.

Tiles are powers of two, chosen loop by loop, the outer ones first: the greatest that is nearly the fastest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from patterns.addressed import is_address
from patterns.graph import Block, Graph, Node
from patterns.plan import Nest as PlanNest
from patterns.plan import Tile, Tiling
from rdu_model.ask import Asked, ask_all
from rdu_model.homes import Homes, first_memory
from rdu_model.machine import Machine, macs_per_pcu, usable_pcus
from rdu_model.pipe import ITERATION, Item, Pipe, nodes_of
from rdu_model.tiles.loops import all_nests
from rdu_model.tiles.nests import STYLES, Nest, nestings
from rdu_model.tiles.predict import predict, streamed_bytes
from rdu_model.tiles.sketch import Sketch, Within, sketches

# How often the tiles of all loops are chosen again, given those of the others.
ROUNDS = 2
MOST_TILE_SIZES = 14
# Of sections of a block of more nodes fewer ways are tried, as each takes long.
MANY_NODES = 200
# Sections whose ways to nest are kept, each with about 2 MB of predictions: those of the last few points.
KEPT = 8
# When they are chosen again, so many greater and smaller ones are tried.
NEIGHBOURS = 2
# Smaller tiles must be worth their steps: of all within this part of the least predicted time, and a step more, the
# greatest is taken.
NEARLY = 0.0005
# A loop whose every step brings what the one before has let go is left out where that takes at most this much longer,
# and at least this many times fewer bytes are brought.
MUCH_LESS, LITTLE_LONGER = 2, 0.01


@lru_cache(maxsize=KEPT)
def shapes_of(
    graph: Graph, block: Block, nodes: tuple[Node, ...], machine: Machine, homes: Homes
) -> tuple[Sketch, ...]:
    """The ways in which nodes of a block may nest in one execution of their section, however many a call has.

    What is found out of their tiles stays with them: a loop over executions finds what one of them was asked.
    """
    by_name = ask_all(graph, nodes)
    asked = list(by_name.values())
    weight = {name: _weight(one, graph.sizes, machine) for name, one in by_name.items()}
    if any(one.unit_class != "memory" for one in asked):
        # What is only another address of a buffer takes no time beside those that read it.
        weight |= dict.fromkeys((one.node.name for one in asked if is_address(one.node)), 0)
    # Of very many nodes, and where very many sections are tried, one way: each takes long.
    styles = STYLES if len(block.nodes) <= MANY_NODES else STYLES[:1]
    shapes = dict.fromkeys(nestings(asked, graph.sizes, weight, styles))
    return tuple(sketches(by_name, shapes, machine, homes))


def tile(shapes: Sequence[Sketch], within: Within) -> tuple[Sketch, dict[int, int]]:
    """The fastest of these shapes by prediction, the first of equal ones, with its tiles."""
    found = [(shape, choose_tiles(shape, within)) for shape in shapes]
    return min(found, key=lambda one: predict(one[0], one[1], within))


def _weight(asked: Asked, sizes: Mapping[str, int], machine: Machine) -> float:
    """Cycles that a node would take alone: its bytes and its work, whichever is more."""
    reads, out = asked.touched(sizes)
    moved = first_memory(machine).pace.cycles_for(sum(reads) + out)
    demand = asked.demand(sizes)
    pcus = usable_pcus(machine)
    lanes = pcus * machine.pcu_lanes
    return max(
        moved,
        demand.matrix_flops / (2 * pcus * macs_per_pcu(machine)),
        demand.vector_ops / (lanes * machine.pcu_stages),
        demand.special_ops / lanes,
    )


def choose_tiles(of: Sketch, within: Within) -> dict[int, int]:
    """The extent of each nest's tiles: the whole dim where a loop gains nothing.

    Where rows are looked up, every step of an outer loop may find the same again: inner loops are cut first as well, so
    that outer ones need not be for want of room.
    """
    nests = all_nests(of.shape)
    tiles = _chosen(of, nests, within)
    if not any(asked.lookup for asked in of.nodes.values()):
        return tiles
    return min((tiles, _chosen(of, nests[::-1], within)), key=lambda found: predict(of, found, within))


def _chosen(of: Sketch, nests: Sequence[Nest], within: Within) -> dict[int, int]:
    """Tiles chosen loop by loop, in this order."""
    tiles = {loop.key: of.sizes[loop.dim] for loop in nests}
    for again in range(ROUNDS):
        for loop in nests:
            extents = _tile_sizes(of.sizes[loop.dim])
            if again:
                near = extents.index(tiles[loop.key])
                extents = extents[max(0, near - NEIGHBOURS) : near + NEIGHBOURS + 1]
            # None that takes longer than is enough now can be chosen.
            enough = _enough(of, predict(of, tiles, within))
            times = {extent: predict(of, {**tiles, loop.key: extent}, within, enough) for extent in extents}
            enough = _enough(of, min(times.values()))
            tiles[loop.key] = next(extent for extent, time in times.items() if time <= enough)
    return _read_once(of, tiles, within)


def _enough(of: Sketch, cycles: float) -> float:
    """What takes up to so long is as good as what takes `cycles`."""
    return cycles * (1 + NEARLY) + of.machine.step_cycles


def _read_once(of: Sketch, tiles: dict[int, int], within: Within) -> dict[int, int]:
    """Without inner loops that only bring the same bytes again and again, where whole tiles are nearly as fast.

    That is where steps over windows are short, so that many of them would each bring all weights.
    """
    if not any(asked.follows for asked in of.nodes.values()):
        return tiles
    enough = predict(of, tiles, within) * (1 + LITTLE_LONGER)
    for loop in reversed(all_nests(of.shape)):
        whole = {**tiles, loop.key: of.sizes[loop.dim]}
        less = whole != tiles and streamed_bytes(of, tiles) >= MUCH_LESS * streamed_bytes(of, whole)
        if less and predict(of, whole, within) <= enough:
            tiles = whole
    return tiles


def _tile_sizes(extent: int) -> list[int]:
    """The whole dim, then powers of two below it, the greatest first."""
    powers = [1 << bit for bit in reversed(range((extent - 1).bit_length()))]
    return [extent, *powers[:MOST_TILE_SIZES]]


def tiling_of(body: tuple[Item, ...]) -> Tiling:
    """The loops of a metapipe as numpy runs them: one pipe of everything as loops, others as nests.

    Executions of the block are not among them: they are the call's `iterations`.
    """
    body = next((item.body for item in body if isinstance(item, Pipe) and item.dim == ITERATION), body)
    nodes = nodes_of(body)
    pipes = [item for item in body if isinstance(item, Pipe) and nodes_of(item.body)]
    if len(pipes) == 1 and nodes_of(pipes[0].body) == nodes:
        inner = tiling_of(pipes[0].body)
        return Tiling((Tile(pipes[0].dim, pipes[0].extent), *inner.loops), nests=inner.nests)
    return Tiling(nests=tuple(PlanNest(nodes_of(pipe.body), tiling_of((pipe,))) for pipe in pipes))

"""Plans made by hand: calls with a tiling and an empty program, for any graph."""

from __future__ import annotations

from patterns.graph import Graph
from patterns.pipeline.program import Program
from patterns.plan import Call, LaunchCost, Plan, Rates, Tile, Tiling

EMPTY = Program("empty", (), (), ())
NO_SPLITS: tuple[tuple[str, int], ...] = ()


def tiles(**extents: int) -> tuple[Tile, ...]:
    """Loops over dims, outermost first."""
    return tuple(Tile(dim, extent) for dim, extent in extents.items())


def call(
    nodes: str, tiling: Tiling | None = None, *, block: str, name: str = "", count: int = 1, iterations: int = 1
) -> Call:
    """A call of nodes (a text with their names)."""
    names = tuple(nodes.split())
    return Call(name or names[0], block, names, tiling or Tiling(), EMPTY, 1, count, iterations)


def combine(of: str, *, block: str, count: int = 1) -> Call:
    """The call that merges the parts of another."""
    return Call(f"{of}_combine", block, (), Tiling(), EMPTY, 1, count, combines=of)


def plan(graph: Graph, *calls: Call, members: int = 1) -> Plan:
    """Calls as a plan of no machine."""
    return Plan("none", "gpu", "by hand", members, graph, calls, LaunchCost("none", 0, 0, 0, 1), Rates((), ()))


def each_node(graph: Graph, loops: tuple[Tile, ...] = ()) -> Plan:
    """A call for every node; loops over the dims that it can be tiled along, accumulated ones innermost."""
    from patterns.numbers.tiles import accumulated_dims, tiled_dims

    calls = []
    for block, node in graph.nodes():
        tiled, gathered = tiled_dims(graph, node), accumulated_dims(graph, node)
        own = [tile for tile in loops if tile.dim in tiled]
        ordered = sorted(own, key=lambda tile: tile.dim in gathered)
        calls.append(call(node.name, Tiling(tuple(ordered)), block=block.name, count=block.count))
    return plan(graph, *calls)

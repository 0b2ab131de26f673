"""route: the way of each buffer's tiles, as the estimate has it and as it was routed, and the load of the mesh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import NOT_PLACED, Cell, Rows, Shown, title
from rdu_model.floor.compared import compare_ways
from rdu_model.floor.estimate import Estimate, estimate
from rdu_model.floor.fabric import Edge, Fabric
from rdu_model.floor.placement import Placed, Routes
from rdu_model.floor.wires import Wire
from rdu_model.section import Section

RANK = 7
PLACED = True

MOST_EDGES = 10
BANDS = 5
FEW = 3
LEGEND = """\
  flows       ways from a unit to one or several others: from the source into the PMUs, and from these to the readers
  hops        mesh links from the source by the PMUs to the farthest reader, as routed and by the estimate
  latency     cycles from a tile's end until it is with that reader, likewise
  in, out     bytes in a cycle that the mesh lets into the PMUs, and to the reader that gets least; - for no limit"""


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """The ways and the mesh of each section."""
    shown: list[Shown] = []
    for compiled in chosen:
        placed = compiled.section.placed
        shown += [title(compiled), *([NOT_PLACED] if placed is None else _ways(compiled.section, placed))]
    return (*shown, LEGEND)


def _ways(section: Section, placed: Placed) -> Iterator[Shown]:
    guess = estimate(replace(section, placed=None, wires={}))
    rows = tuple(_row(section, guess, placed.routes, buffer.link.name) for buffer in section.buffers)
    ways = ("hops", "estimated", "latency", "estimated")
    if rows:
        yield Rows(("tiles of", "flows", "links", *ways, "in\nB/cycle", "out\nB/cycle"), rows)
    yield _mesh(placed)
    yield _beside(section)
    if placed.routes.load:
        yield _loads(placed.routes)
        yield f"The {min(MOST_EDGES, len(placed.routes.load))} busiest links of the mesh:"
        yield _busiest(placed)


def _row(section: Section, guess: Estimate, routes: Routes, link: str) -> tuple[Cell, ...]:
    wire, guessed = section.wire(link), guess.wires.get(link, Wire())
    flows = sum(route.link == link for route in routes.routes)
    ways = wire.hops, guessed.hops, wire.latency_cycles, guessed.latency_cycles
    least = min((pace for pace in wire.read_bytes_per_cycle if pace), default=0.0)
    return link, flows, len(routes.trees.get(link, ())), *ways, _pace(wire.bytes_per_cycle), _pace(least)


def _pace(bytes_per_cycle: float) -> str | None:
    return f"{bytes_per_cycle:,.1f}" if bytes_per_cycle else None


def _mesh(placed: Placed) -> str:
    routes = placed.routes
    told = [f"{len(routes.routes):,} flows on {len(routes.load):,} links of the mesh, {routes.capacity:,} B/cycle each"]
    if placed.byte_hops:
        told.append("bytes x hops in a cycle: " + ", ".join(f"{how} {n:,.0f}" for how, n in placed.byte_hops.items()))
    return "; ".join(told)


def _beside(section: Section) -> Rows:
    """What was placed and routed beside the estimate: the time of the section, its ways, and what is on the mesh."""
    found = compare_ways(section)
    placed, guess = found.placed, found.estimated
    return Rows(
        ("", "placed", "estimated", "without ways"),
        (
            ("cycles of a call", placed.cycles, guess.cycles, found.free_cycles),
            ("mean hops", f"{placed.mean_hops:.1f}", f"{guess.mean_hops:.1f}", None),
            ("longest way, hops", placed.longest_hops, guess.longest_hops, None),
            ("mean latency, cycles", f"{placed.mean_latency_cycles:.1f}", f"{guess.mean_latency_cycles:.1f}", None),
            ("busiest link", placed.busiest, guess.busiest, None),
            ("bytes x hops in a cycle", round(placed.byte_hops), round(guess.byte_hops), None),
        ),
    )


def _loads(routes: Routes) -> Rows:
    """How many links carry how much of what they can."""
    shares = [load / routes.capacity for load in routes.load.values()]
    top = max(1.0, *shares)
    rows: list[tuple[Cell, ...]] = []
    for band in range(BANDS):
        low, high = top * band / BANDS, top * (band + 1) / BANDS
        inside = sum(low < share <= high for share in shares)
        rows.append((f"to {high:.0%}", inside, inside / len(shares)))
    return Rows(("load", "links", "of those used"), tuple(rows))


def _busiest(placed: Placed) -> Rows:
    routes, fabric = placed.routes, placed.fabric
    edges = sorted(routes.load, key=lambda edge: (-routes.load[edge], edge))[:MOST_EDGES]
    users = {edge: [link for link, tree in routes.trees.items() if edge in set(tree)] for edge in edges}
    rows: list[tuple[Cell, ...]] = []
    for edge in edges:
        load, more = routes.load[edge], " ..." if len(users[edge]) > FEW else ""
        used_by = ", ".join(users[edge][:FEW]) + more
        rows.append((_edge(fabric, edge), f"{load:.1f}", load / routes.capacity, routes.flows[edge], used_by))
    return Rows(("from row, column to", "B/cycle", "of what it\ncarries", "flows", "tiles of"), tuple(rows))


def _edge(fabric: Fabric, edge: Edge) -> str:
    (row, column), (to_row, to_column) = map(fabric.row_column, edge)
    return f"{row}, {column} to {to_row}, {to_column}"

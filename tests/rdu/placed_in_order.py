"""A placement that a test can know without an algorithm: units in the order of the grid, one route for each link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from rdu_model.floor.fabric import Edge, Fabric, fabric_of
from rdu_model.floor.placement import Placed, Placement, Route, Routes
from rdu_model.floor.wires import Wire
from rdu_model.pipe import Load, Store
from rdu_model.section import Section


def placed_in_order(section: Section) -> Section:
    """The section with every stage, buffer and stream on the next free units of the grid."""
    fabric = fabric_of(section.machine)
    free_pcus, free_pmus = iter(fabric.pcus), iter(fabric.pmus)
    pcus = {name: tuple(islice(free_pcus, group.pcus)) for name, group in section.groups.items() if group.pcus}
    pmus = {buffer.link.name: tuple(islice(free_pmus, buffer.pmus)) for buffer in section.buffers}
    each = section.carried_pmus // max(1, len(section.flow.metapipe.carries))
    pmus |= {carry.name: tuple(islice(free_pmus, each)) for carry in section.flow.metapipe.carries}
    leaves = section.flow.leaves.items()
    streams = [name for name, place in leaves if isinstance(place.leaf, Load | Store)]
    agcus = {name: (number % len(fabric.agcus),) for number, name in enumerate(streams)}
    placement = Placement(pcus, pmus, agcus)
    routes = tuple(_routes(section, fabric, placement))
    edges = Counter(edge for route in routes for edge in route.edges)
    loads = {edge: 10.0 * number for edge, number in edges.items()}
    hops = {route.link: len(route.edges) for route in routes}
    reading = {link.name: tuple(32.0 for _ in link.readers) for link in section.flow.links}
    wires = {link: Wire(2 * count, count, 64.0, reading[link]) for link, count in hops.items()}
    return replace(
        section,
        placed=Placed(fabric, placement, Routes(routes, loads, edges, 128), {"annealed": 10.0 * edges.total()}),
        wires=wires,
    )


def _routes(section: Section, fabric: Fabric, placement: Placement) -> Iterator[Route]:
    for link in section.flow.links:
        sources = placement.pcus.get(link.source) or placement.pmus[link.name]
        if link.source in placement.agcus:
            sources = tuple(fabric.agcus[number] for number in placement.agcus[link.source])
        target = placement.pmus[link.name][-1]
        yield Route(link.name, "", sources[0], (target,), 10.0, "", tuple(_way(fabric, sources[0], target)))


def _way(fabric: Fabric, cell: int, to: int) -> Iterator[Edge]:
    """Along the row, then along the column."""
    (row, column), (to_row, to_column) = fabric.row_column(cell), fabric.row_column(to)
    while (row, column) != (to_row, to_column):
        here = fabric.cell(row, column)
        if column != to_column:
            column += 1 if to_column > column else -1
        else:
            row += 1 if to_row > row else -1
        yield here, fabric.cell(row, column)

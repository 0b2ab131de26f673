"""Place and route of one section: its units on the grid, its flows over the mesh, and what the ways cost its tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from rdu_model.floor.anneal import HEAT, STEPS, Board, Ints, anneal
from rdu_model.floor.fabric import Edge, Fabric, fabric_of
from rdu_model.floor.place import Placing, at_agcus, board_of, pins_of, placement_of, scattered, snake_start
from rdu_model.floor.placement import Placed, Route, Routes
from rdu_model.floor.rates import ALWAYS, rates_of
from rdu_model.floor.route import ROUNDS, check_routes, most_routes, route
from rdu_model.floor.traffic import Traffic, traffic_of
from rdu_model.floor.wires import Wire
from rdu_model.machine import Machine
from rdu_model.section import Section

# How full an edge may be before it is crowded: flows on it, and their bursts, have little left.
CROWDED = 0.85
# How often a placement with crowded edges is annealed again, with the flows on these so much heavier.
AGAIN, HEAVIER = 5, 1.5
# Of the steps and of the heat of the first cooling, what later ones have.
LATER_STEPS, LATER_HEAT = 0.25, 0.1
# A small section needs fewer steps: so many for each unit.
STEPS_EACH = 4


def place_and_route(section: Section, seed: int) -> Section:
    """The section on the grid, with the wires of its routes. The same seed gives the same.

    Raises UserError for a machine whose units have no room on its grid, DoesNotFit for too many streams or routes.
    """
    machine, traffic = section.machine, traffic_of(section)
    fabric = fabric_of(machine)
    search = _Search(section, traffic, fabric, board_of(fabric, machine), seed)
    best, byte_hops = search.best()
    check_routes(best.routes, fabric, machine)
    placed = Placed(fabric, placement_of(traffic, best.placing), best.routes, byte_hops)
    return replace(section, placed=placed, wires=wires_of(section, placed))


@dataclass(frozen=True)
class _Found:
    """A placement with its routes."""

    placing: Placing
    routes: Routes


@dataclass(frozen=True)
class _Search:
    """Looks for a placement of a section."""

    section: Section
    traffic: Traffic
    fabric: Fabric
    board: Board
    seed: int

    def routed(self, cells: Ints, rounds: int = ROUNDS) -> _Found:
        """Units on these cells, AGCUs near them, and the routes."""
        machine = self.section.machine
        placing = at_agcus(cells, self.traffic, self.board, self.fabric, machine)
        return _Found(placing, route(self.traffic.nets, placing.cells.tolist(), self.fabric, machine, rounds))

    def price(self, found: _Found) -> tuple[float, float]:
        """First how crowded the fullest edge is, then bytes times links."""
        flows = max(found.routes.flows.values(), default=0) / most_routes(self.section.machine)
        return max(CROWDED, found.routes.busiest, flows), found.routes.byte_hops

    def best(self) -> tuple[_Found, dict[str, float]]:
        """The best placement, and the bytes times links of it and of those that it is compared with."""
        start = self.routed(snake_start(self.section, self.traffic, self.fabric), 0)
        random = self.routed(scattered(self.traffic, self.fabric, self.seed), 0)
        steps = min(STEPS, STEPS_EACH * self.traffic.count)
        cells = anneal(pins_of(self.traffic, {}), self.board, start.placing.cells, self.seed, steps, HEAT)
        best, heavier = start, dict[int, float]()
        for _ in range(AGAIN):
            near = at_agcus(cells, self.traffic, self.board, self.fabric, self.section.machine).cells
            pins = pins_of(self.traffic, heavier)
            cells = anneal(pins, self.board, near, self.seed, int(steps * LATER_STEPS), HEAT * LATER_HEAT)
            found = self.routed(cells)
            best = min(best, found, key=self.price)
            if self.price(found)[0] <= CROWDED:
                break
            most = most_routes(self.section.machine)
            crowded = {
                edge
                for edge, flows in found.routes.flows.items()
                if max(found.routes.load[edge] / found.routes.capacity, flows / most) > CROWDED
            }
            for net, way in enumerate(found.routes.routes):
                if not crowded.isdisjoint(way.edges):
                    heavier[net] = heavier.get(net, 1.0) * HEAVIER
        hops = {"random": random.routes.byte_hops, "start": start.routes.byte_hops, "annealed": best.routes.byte_hops}
        return best, hops


def wires_of(section: Section, placed: Placed) -> dict[str, Wire]:
    """What the routes of a section cost its links and carries."""
    shares = Shares(placed.routes, rates_of(section).cycles)
    readers = {buffer.link.name: buffer.link.readers for buffer in section.buffers}
    readers |= {carry.name: carry.readers for carry in section.flow.metapipe.carries}
    by_link: dict[str, list[Route]] = {name: [] for name in readers}
    for found in placed.routes.routes:
        by_link[found.link].append(found)
    wires = {}
    for link, ways in by_link.items():
        hops, latency = _farthest(ways, placed.fabric, section.machine)
        written = shares.pace([way for way in ways if not way.reader])
        read = tuple(shares.pace([way for way in ways if way.reader == reader]) for reader in readers[link])
        wires[link] = Wire(latency, hops, written, read)
    return wires


def _farthest(ways: list[Route], fabric: Fabric, machine: Machine) -> tuple[int, int]:
    """Links and cycles of the longest way through any PMU of a link."""

    def cycles(one: int, other: int) -> int:
        return fabric.hops(one, other) * machine.hop_cycles + fabric.crossings(one, other) * machine.crossing_cycles

    into: dict[int, list[tuple[int, int]]] = {}
    out: dict[int, list[tuple[int, int]]] = {}
    for way in ways:
        for target in way.targets:
            far = cycles(way.source, target), fabric.hops(way.source, target)
            (out if way.reader else into).setdefault(way.source if way.reader else target, []).append(far)
    nothing = [(0, 0)]
    through = [
        tuple(map(sum, zip(max(into.get(cell, nothing)), max(out.get(cell, nothing)), strict=True)))
        for cell in into.keys() | out.keys()
    ]
    latency, hops = max(through, default=(0, 0))
    return hops, latency


@dataclass(frozen=True)
class Shares:
    """How much each flow gets of the edges that it shares. cycles: for which each phase works."""

    routes: Routes
    cycles: Mapping[str, int]

    @cached_property
    def loads(self) -> Mapping[str, Mapping[Edge, float]]:
        """Bytes in a cycle of each edge in each phase, what always flows included."""
        found: dict[str, dict[Edge, float]] = {phase: {} for phase in self.cycles}
        for way in self.routes.routes:
            for phase in self.cycles if way.phase == ALWAYS else (way.phase,):
                load = found[phase]
                for edge in way.edges:
                    load[edge] = load.get(edge, 0.0) + way.bytes_per_cycle
        return found

    def pace(self, ways: list[Route]) -> float:
        """Bytes in a cycle that some flows, which carry parts of the same tiles, can be together; 0 for no flow.

        On an edge that is too full each flow gets its fair share; else the flows may have what is left of it.
        """
        if not any(way.edges and way.bytes_per_cycle for way in ways):
            return 0.0
        own: dict[Edge, float] = {}
        for way in ways:
            for edge in way.edges:
                own[edge] = own.get(edge, 0.0) + way.bytes_per_cycle
        load, capacity = self.loads[ways[0].phase], self.routes.capacity
        least = min(
            capacity / load[edge] if load[edge] > capacity else 1 + (capacity - load[edge]) / mine
            for edge, mine in own.items()
            if mine
        )
        return least * sum(way.bytes_per_cycle for way in ways)

"""Routes: every flow along one dimension of the mesh, then the other, in a tree where it has several ends.

A tree goes along the row of its source and turns into the columns of its targets, or along the column and into rows;
the second way is tried where an edge has more routes or more bytes than it carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from patterns.errors import DoesNotFit
from rdu_model.floor.fabric import Edge, Fabric
from rdu_model.floor.placement import Route, Routes
from rdu_model.floor.rates import ALWAYS
from rdu_model.floor.traffic import Net
from rdu_model.machine import Machine

# How often flows on edges that are too full are led another way.
ROUNDS = 3


def tree(fabric: Fabric, source: int, targets: Iterable[int], columns_first: bool = False) -> tuple[Edge, ...]:
    """The edges from a cell to others, each once: dimension-order ways that share what they have in common."""
    row, column = fabric.row_column(source)
    ends: dict[int, tuple[int, int]] = {}
    for target in targets:
        to_row, to_column = fabric.row_column(target)
        branch, end = (to_row, to_column) if columns_first else (to_column, to_row)
        least, most = ends.get(branch, (end, end))
        ends[branch] = min(least, end), max(most, end)
    trunk, stem = (row, column) if columns_first else (column, row)
    edges = _line(fabric, trunk, min(ends), max(ends), stem, columns_first)
    for branch, (least, most) in ends.items():
        edges += _line(fabric, stem, least, most, branch, not columns_first)
    return tuple(edges)


def _line(fabric: Fabric, start: int, least: int, most: int, fixed: int, vertical: bool) -> list[Edge]:
    """Edges from `start` to both ends of a range that may lie on either side of it, in one row or column."""
    step, at = (fabric.columns, fixed) if vertical else (1, fixed * fabric.columns)
    up = [(at + n * step, at + (n + 1) * step) for n in range(start, most)]
    return up + [(at + n * step, at + (n - 1) * step) for n in range(start, least, -1)]


def route(nets: Sequence[Net], cells: Sequence[int], fabric: Fabric, machine: Machine, rounds: int = ROUNDS) -> Routes:
    """The routes of a section's flows; some edges may have too much. cells: of each unit."""
    mesh = _Mesh(nets, cells, fabric, machine)
    for net in range(len(nets)):
        mesh.lead(net)
    for _ in range(rounds):
        crowded = mesh.crowded()
        if not crowded:
            break
        for net in range(len(nets)):
            if any(edge in crowded for edge in mesh.trees[net]):
                mesh.lead_better(net)
    return mesh.routes()


def check_routes(routes: Routes, fabric: Fabric, machine: Machine) -> None:
    """Raises DoesNotFit for an edge with more routes than it can have."""
    most = most_routes(machine)
    worst = max(routes.flows, key=lambda edge: routes.flows[edge], default=None)
    if worst is None or routes.flows[worst] <= most:
        return
    (row, column), (to_row, to_column) = map(fabric.row_column, worst)
    links = sorted({found.link for found in routes.routes if worst in found.edges})
    raise DoesNotFit(
        f"no route from row {row}, column {column} to row {to_row}, column {to_column} of the mesh "
        f"(for {', '.join(links[:3])}{' ...' if len(links) > 3 else ''}): the section",
        "routes between two switches",
        routes.flows[worst],
        most,
        "fewer stages in a section, or a machine with more mesh_links or mesh_flows would help",
    )


def most_routes(machine: Machine) -> int:
    """Routes that an edge can have."""
    return machine.mesh_links * machine.mesh_flows


@dataclass
class _Mesh:
    """Edges fill up as flows are led over them. turned: whether a flow goes along columns first."""

    nets: Sequence[Net]
    cells: Sequence[int]
    fabric: Fabric
    machine: Machine
    trees: dict[int, tuple[Edge, ...]] = field(default_factory=dict)
    turned: dict[int, bool] = field(default_factory=dict)
    loads: dict[Edge, dict[str, float]] = field(default_factory=dict)
    flows: dict[Edge, dict[tuple[object, ...], int]] = field(default_factory=dict)

    @property
    def capacity(self) -> int:
        """Bytes in a cycle of an edge."""
        return self.machine.mesh_links * self.machine.mesh_bytes_per_cycle

    def lead(self, number: int, turned: bool | None = None) -> None:
        """Put a flow on its way: rows first, columns first (turned), or whichever tree has fewer edges."""
        net = self.nets[number]
        source, targets = self.cells[net.source], [self.cells[unit] for unit in net.targets]
        ways = [(way, tree(self.fabric, source, targets, way)) for way in (False, True) if turned in (None, way)]
        self.turned[number], self.trees[number] = min(ways, key=lambda found: len(found[1]))
        self._add(number, 1)

    def _add(self, number: int, sign: int) -> None:
        net = self.nets[number]
        # Many units that send to the same ones share a route from where they meet.
        key = (net.link, net.reader, net.targets)
        for edge in self.trees[number]:
            load = self.loads.setdefault(edge, {ALWAYS: 0.0})
            load[net.phase] = load.get(net.phase, 0.0) + sign * net.bytes_per_cycle
            flows = self.flows.setdefault(edge, {})
            flows[key] = flows.get(key, 0) + sign
            if not flows[key]:
                del flows[key]

    def lead_better(self, number: int) -> None:
        """Lead a flow the other way if its fullest edge is then less full."""
        before = self._fullest(number)
        self._add(number, -1)
        self.lead(number, not self.turned[number])
        if self._fullest(number) >= before:
            self._add(number, -1)
            self.lead(number, not self.turned[number])

    def _fullest(self, number: int) -> float:
        return max((self._fullness(edge) for edge in self.trees[number]), default=0.0)

    def _fullness(self, edge: Edge) -> float:
        return max(self.load(edge) / self.capacity, len(self.flows[edge]) / most_routes(self.machine))

    def load(self, edge: Edge) -> float:
        """Bytes in a cycle of an edge in the phase in which it has most; what always flows comes with each."""
        load = self.loads[edge]
        return load[ALWAYS] + max((amount for phase, amount in load.items() if phase != ALWAYS), default=0.0)

    def crowded(self) -> set[Edge]:
        """Edges with more than they carry."""
        return {edge for edge in self.flows if self._fullness(edge) > 1}

    def routes(self) -> Routes:
        """What was found."""
        found = tuple(
            Route(
                net.link,
                net.reader,
                self.cells[net.source],
                tuple(dict.fromkeys(self.cells[unit] for unit in net.targets)),
                net.bytes_per_cycle,
                net.phase,
                self.trees[number],
            )
            for number, net in enumerate(self.nets)
        )
        used = {edge: flows for edge, flows in self.flows.items() if flows}
        load = {edge: self.load(edge) for edge in used}
        return Routes(found, load, {edge: len(flows) for edge, flows in used.items()}, self.capacity)

"""What kernels are predicted to take, gaps included: what a policy goes by that fuses where it pays."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from gpu_model.call import programs_of
from gpu_model.joining.legal import Group, Grouping
from gpu_model.laid_out import LaidOut, lay_out
from patterns.errors import DoesNotFit
from patterns.graph import Graph
from patterns.pipeline.hashed import changed
from patterns.run import simulated
from patterns.units import ticks


@dataclass(frozen=True)
class Cost:
    """Time of kernels, in ps. device_ps: running, and the gaps between them. host_ps: launching them."""

    device_ps: int = 0
    host_ps: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.device_ps + other.device_ps, self.host_ps + other.host_ps)

    @property
    def time_ps(self) -> int:
        """Of many kernels: the host runs ahead, so that the slower of the two sets the pace."""
        return max(self.device_ps, self.host_ps)


def device_time(cost: Cost) -> int:
    """What counts where the device sets the pace, in ps."""
    return cost.device_ps


def pace(cost: Cost) -> int:
    """What counts where the host sets the pace, in ps: of every kernel the slower of launching and running it."""
    return cost.time_ps


@dataclass
class Costs:
    """Costs of groups, each sort of kernel laid out once (kept here): groups that differ in names only are of one sort.

    simulated: whether kernels are run, which is exact and slower, or predicted in closed form.
    """

    grouping: Grouping
    simulated: bool = False
    laid_out: dict[object, LaidOut | None] = field(default_factory=dict)
    of_sort: dict[object, Cost | None] = field(default_factory=dict)
    of_names: dict[tuple[object, ...], Cost | None] = field(default_factory=dict)

    def of(self, group: Group) -> Cost | None:
        """None where no tile fits."""
        names = (group.names, group.online)
        if names not in self.of_names:
            sort = sort_of(self.grouping.graph, group, self.grouping.ask.kept)
            if sort not in self.laid_out:
                self.laid_out[sort] = self._lay_out(group)
            if sort not in self.of_sort:
                self.of_sort[sort] = self._cost(self.laid_out[sort])
            self.of_names[names] = self.of_sort[sort]
        return self.of_names[names]

    def total(self, groups: Iterable[Group]) -> Cost | None:
        """Of several kernels, None where one does not fit."""
        found = [self.of(group) for group in groups]
        return None if None in found else sum((cost for cost in found if cost is not None), Cost())

    def as_run(self) -> Costs:
        """The same kernels, simulated."""
        return Costs(self.grouping, simulated=True, laid_out=self.laid_out)

    def _lay_out(self, group: Group) -> LaidOut | None:
        if len(group.nodes) > 1 and self.grouping.misfit(group):
            return None
        try:
            ask = changed(self.grouping.ask, reasons=False)
            return lay_out(self.grouping.graph, self.grouping.edges.block, group, ask)
        except DoesNotFit:
            return None

    def _cost(self, laid_out: LaidOut | None) -> Cost | None:
        if laid_out is None:
            return None
        ask = self.grouping.ask
        gaps, host = (laid_out.launches * cycles for cycles in (ask.gap_cycles, ask.host_cycles))
        running = _run_ps(laid_out) if self.simulated else ticks(laid_out.predicted_cycles, ask.machine.clock_hz)
        return Cost(running + ticks(gaps, ask.machine.clock_hz), ticks(host, ask.machine.clock_hz))


def _run_ps(laid_out: LaidOut) -> int:
    programs = programs_of(laid_out.asked.what, laid_out.chosen, laid_out.combine)
    return sum(ticks(simulated(program, spans=False).total_cycles, clock_hz) for program, clock_hz in programs)


def sort_of(graph: Graph, group: Group, kept: Collection[str] = ()) -> object:
    """Equal for groups whose nodes, tensors and dims differ in names only, in the order of their first use.

    kept: tensors that stay in the L2, which others do not.
    """
    dims: dict[str, int] = {}
    tensors: dict[str, int] = {}
    nodes = []
    for node in group.nodes:
        names = (*node.reads, node.writes)
        for name in names:
            tensors.setdefault(name, len(tensors))
            tensors.setdefault(graph.tensor_named[name].shares or name, len(tensors))
            for dim in graph.tensor_named[name].dims:
                dims.setdefault(dim, len(dims))
        used = tuple(dims.get(dim, dim) for dim in (*node.over, node.along))
        nodes.append((node.kind, node.fn, node.arguments, used, tuple(tensors[name] for name in names)))
    described = tuple(
        (
            tensor.dtype,
            tensors[tensor.shares or name],
            name in group.inside,
            name in kept,
            tuple(dims[dim] for dim in tensor.dims),
        )
        for name in tensors
        for tensor in [graph.tensor_named[name]]
    )
    sizes = tuple(graph.sizes[dim] for dim in dims)
    return tuple(nodes), described, sizes, tuple(dims.get(dim, dim) for dim in group.online)

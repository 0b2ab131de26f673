"""Run every way in which both machines map a workload on numbers, and compare with the reference.

Plans are made for the real extents, and executed with small ones: the same calls, groups, nests and splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from experiments.compare import read_graph
from experiments.reference import Reference, reference_of
from experiments.settings import Settings, settle
from experiments.sides import Side, load_machine, lower, rounding_of, sides
from patterns.count import hidden
from patterns.counting.room import held_bytes
from patterns.errors import DoesNotFit, UnknownName, UserError
from patterns.evaluate import evaluate
from patterns.graph import Graph, Node
from patterns.library import workload
from patterns.numbers.difference import Difference, largest, rounded_tolerance, tolerance
from patterns.numbers.execute import execute
from patterns.numbers.reduced import reduced
from patterns.numbers.rescaled import online_of, rescaled, splits_of
from patterns.numbers.rounding import every_result
from patterns.numbers.tiles import PlanError
from patterns.plan import Call, Plan, Tile, Tiling
from patterns.read import parse_graph
from patterns.write import write_graph

if TYPE_CHECKING:
    from experiments.request import Request

AUTO = "auto"
# Which memory is made large enough for a graph: only numbers are asked for here.
MEMORY = {"gpu": "hbm_bytes", "rdu": "ddr_bytes"}

Structure = tuple[object, ...]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Way:
    """One way to run the workload: a machine in one mode. schedule: what is asked of a GPU's kernels ('' of an RDU)."""

    side: Side
    mode: str
    schedule: str = ""


@dataclass(frozen=True)
class Refused:
    """A way that the machine cannot go, and why. idle: nothing here is for that schedule, or the machine lacks it."""

    way: Way
    reason: str
    idle: bool = False


@dataclass(frozen=True)
class Made:
    """A way, its plan, and that plan with small extents; fault: why there is none ('' if there is)."""

    way: Way
    plan: Plan
    small: Plan
    fault: str = ""


@dataclass(frozen=True)
class Allowed:
    """The largest errors that rounding explains: of float64, and of the graph's own types."""

    exact: float
    rounded: float


@dataclass(frozen=True)
class Checked:
    """One mapping, and how far its numbers are from the reference.

    ways: all that come to this mapping, the first of which was run. calls: of one run at the real extents. loops,
    ragged: loops over tiles when it was run, and those whose last tile had less to do. splits: (dim, parts) at the real
    extents, and online: steps in which sums are rescaled. difference: in float64. rounded: where numbers are rounded to
    their types as the machine does, sums being fp32; places (indices) are left out of it. fault: what the plan does not
    compute ('' if it computes all).
    """

    ways: tuple[Way, ...]
    calls: int
    loops: int
    ragged: int
    splits: tuple[tuple[str, int], ...]
    online: tuple[Tile, ...]
    difference: Difference
    rounded: Difference
    fault: str = ""

    def is_wrong(self, allowed: Allowed) -> bool:
        """Whether the numbers are not those of the reference."""
        near = self.difference.error <= allowed.exact and self.rounded.error <= allowed.rounded
        return bool(self.fault) or not near


@dataclass(frozen=True)
class Verification:
    """What was checked. graph: with the real extents; small: with those it was run with.

    rounded: the error of the reference when every node's result is rounded. zeros: outputs that are zero everywhere for
    these numbers, so that a wrong way to compute them may go unseen.
    """

    graph: Graph
    small: Graph
    members: int
    seed: int
    allowed: Allowed
    rounded: Difference
    checked: tuple[Checked, ...]
    refused: tuple[Refused, ...]
    zeros: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[Checked, ...]:
        """The mappings whose numbers are not those of the reference."""
        return tuple(one for one in self.checked if one.is_wrong(self.allowed))


def nobody(text: str, done: int, of: int) -> None:
    """Tells nobody of the progress."""


def verify(request: Request, schedules: tuple[str, ...] = (), progress: Progress = nobody) -> Verification:
    """Every policy, schedule and mode that the request names, or all. The seed is that of the numbers.

    Raises UserErrors; PlanError only for a graph that cannot be run at all.
    """
    both = sides(request)
    settings = settle(request, both)
    members = both[0].members
    graph = read_graph(request, members, settings)
    small = reduced(graph, lambda extents: _read(request, members, settings, extents, graph))
    reference = reference_of(small, request.seed, members)
    machines = {side.family: _machine(side, settings, graph) for side in both}
    refused: list[Refused] = []
    found: dict[Structure, list[Made]] = {}
    ways = tuple(_ways(both, schedules))
    for number, way in enumerate(ways):
        progress(f"{way.side.machine} {way.mode} {way.schedule}".strip(), number, len(ways))
        try:
            plan = _lowered(way, graph, machines[way.side.family])
        except UserError as error:
            refused.append(Refused(way, str(error), not isinstance(error, DoesNotFit)))
            continue
        made = _made(way, plan, small)
        found.setdefault(mapping_of(made.small), []).append(made)
    if not found:
        raise UserError(f"no way to run {graph.name}: {refused[0].reason}")
    checked = tuple(_check(same, reference) for same in found.values())
    of_reference = reference.rounded(evaluate(small, reference.arrays, members, rounding=every_result))
    allowed = Allowed(tolerance(small, members), rounded_tolerance(small, of_reference.error, members))
    rest = tuple(refused), _zeros(small, reference)
    return Verification(graph, small, members, request.seed, allowed, of_reference, checked, *rest)


def _zeros(graph: Graph, reference: Reference) -> tuple[str, ...]:
    """Outputs that are zero everywhere in the reference."""
    outputs = [tensor.name for tensor in graph.tensors if tensor.role == "output"]
    return tuple(name for name in outputs if name in reference.expected and not reference.expected[name].any())


def _ways(both: Iterable[Side], schedules: tuple[str, ...]) -> Iterator[Way]:
    from gpu_model import schedule_names

    for name in schedules:
        if name not in schedule_names():
            raise UnknownName("schedule", name, schedule_names())
    for side in both:
        for mode in side.modes:
            if side.family == "rdu":
                yield from (Way(one, mode) for one in _with_collectives(side))
                continue
            # A policy that chooses by time chooses by the time of the best schedules.
            names = schedules or ((AUTO,) if mode == AUTO else schedule_names())
            yield from (Way(side, mode, name) for name in names)


def _with_collectives(side: Side) -> Iterator[Side]:
    """An RDU with sums over members in the pipeline, and as calls of their own."""
    yield side
    if side.members > 1 and dict(side.keywords)["collectives"] != "separate":
        yield replace(side, keywords=tuple((name, _separate(name, value)) for name, value in side.keywords))


def _separate(name: str, value: object) -> object:
    return "separate" if name == "collectives" else value


def _read(request: Request, members: int, settings: Settings, extents: Mapping[str, str], graph: Graph) -> Graph:
    """The graph with other extents, by its own reader; by ours where that has them fixed, as an ONNX file's are."""
    overrides = {**settings.of_graph(), **extents}
    try:
        return workload(request.workload, request.phase, members=members, overrides=overrides)
    except UnknownName as error:
        if error.what != "extent":
            raise
        return parse_graph(write_graph(_inferred(graph)), overrides=extents)


def _inferred(graph: Graph) -> Graph:
    """The graph without the numbers that its kinds infer from extents."""

    def inferred(node: Node) -> Node:
        return replace(node, arguments=tuple(pair for pair in node.arguments if pair[0] != "extents"))

    return replace(graph, blocks=tuple(replace(b, nodes=tuple(map(inferred, b.nodes))) for b in graph.blocks))


def _machine(side: Side, settings: Settings, graph: Graph) -> Any:
    """The side's machine, its memory large enough for the graph."""
    changed = dict(settings.of_machine(side.family))
    machine = load_machine(side.family, side.machine, changed)
    name, needed = MEMORY[side.family], 2 * held_bytes(graph)
    if getattr(machine, name) >= needed:
        return machine
    return load_machine(side.family, side.machine, {**changed, name: f"{needed} B"})


def _lowered(way: Way, graph: Graph, machine: Any) -> Plan:
    keywords = tuple((n, way.schedule if n == "schedule" else v) for n, v in way.side.keywords)
    return lower(replace(way.side, keywords=keywords), graph, machine, way.mode)


def _made(way: Way, plan: Plan, small: Graph) -> Made:
    try:
        return Made(way, plan, rescaled(plan, small))
    except PlanError as error:
        return Made(way, plan, plan, str(error))


def mapping_of(plan: Plan) -> Structure:
    """What of a plan decides which numbers are computed in which order. Schedules differ in when they are, as well."""
    return (
        plan.family,
        plan.mode,
        *((c.block, c.nodes, c.tiling, c.count, c.iterations, c.combines) for c in plan.calls),
    )


def visible(plan: Plan) -> tuple[str, ...]:
    """Tensors that a plan leaves in memory: each call's results that others need, or that are results of the run."""
    found: dict[str, None] = {}
    for call in plan.calls:
        for block in plan.graph.blocks:
            nodes = [node for node in block.nodes if node.name in call.nodes]
            inside = hidden(plan.graph, [node.name for node in nodes])
            found.update(dict.fromkeys(node.writes for node in nodes if node.writes not in inside))
    return tuple(found)


def _check(same: Sequence[Made], reference: Reference) -> Checked:
    plan, made = same[0].plan, same[0].small
    counted = [one for call in made.calls for one in ragged_loops(call, made.graph)]
    splits = tuple(dict.fromkeys(split for call in plan.calls for split in splits_of(call.tiling)))
    ways = tuple(one.way for one in same)
    online = tuple(dict.fromkeys(tile for call in plan.calls for tile in online_of(call.tiling)))
    count, nothing = sum(call.count for call in plan.calls), Difference(0.0)
    found = Checked(ways, count, len(counted), sum(counted), splits, online, nothing, nothing)
    if same[0].fault:
        return replace(found, fault=same[0].fault)
    try:
        exact = execute(made, reference.arrays, also=visible(made))
        nearly = execute(made, reference.arrays, rounding=rounding_of(plan.family))
        difference = largest(exact, reference.expected, reference.scales)
        return replace(found, difference=difference, rounded=reference.rounded(nearly))
    except PlanError as error:
        return replace(found, fault=str(error))


def ragged_loops(call: Call, graph: Graph) -> Iterator[bool]:
    """Of every loop of a call whether its last tile, of a dim or of a part of it, has less to do than the others."""
    parts = dict(splits_of(call.tiling))

    def loops(tiling: Tiling) -> Iterator[bool]:
        for tile in (*tiling.loops, *tiling.online):
            size = graph.sizes[tile.dim]
            yield bool(size % tile.extent or -(-size // parts.get(tile.dim, 1)) % tile.extent)
        for nest in tiling.nests:
            yield from loops(nest.tiling)

    return loops(call.tiling)

"""The error band of a plan's time: those of its parts, each by its share of the time.

A call of the whole run, a megakernel, has operators of several parts at work side by side. Its time is shared out by
what each operator would take at least: its work and its bytes at the rates that the machine achieves, the slowest of
them. What operators wait for each other is so shared out too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, get_args

from experiments.validation.bands import Band, band_of, known_bands
from experiments.validation.family import Part
from patterns.count import compulsory, graph_demand, group_demand, group_traffic
from patterns.kind import has

if TYPE_CHECKING:
    from patterns.graph import Block, Node
    from patterns.plan import Call, Plan
    from patterns.report import Execution

PARTS: tuple[Part, ...] = get_args(Part)
# The mode, who starts the calls, and what takes longest, of the RDU runs that times were measured of.
MEASURED = ("looped", "hardware", "hbm_bytes")


@dataclass(frozen=True)
class PartBand:
    """A part of a plan: its share of the whole time, between 0 and 1, and its band."""

    part: Part
    share: float
    band: Band


def plan_bands(execution: Execution) -> tuple[PartBand, ...]:
    """The parts that a plan's time is made of, with their bands; () where nothing was measured on the machine.

    On a GPU, time in which no kernel runs is the launches'. On an RDU, all is of one part, and known only of plans like
    those that were measured.
    """
    plan, whole = execution.plan, execution.schedule.total_cycles
    if not whole:
        return ()
    if plan.family == "rdu":
        band = band_of(plan.machine, "sections", known_bands()) if as_measured(plan) else None
        return (PartBand("sections", 1.0, band),) if band else ()
    times = dict.fromkeys(PARTS, 0.0)
    parts = parts_of(plan)
    for call, run in zip(plan.calls, execution.calls, strict=True):
        for part, share in _shares(plan, call, parts[call.name]).items():
            times[part] += share * run.duration_ps * call.count
    running = sum(times.values())
    times["launches"] += max(0, whole - running)
    shares = {part: time / max(whole, running) for part, time in times.items() if time}
    bands = {part: band_of(plan.machine, part, known_bands()) for part in shares}
    found = [PartBand(part, shares[part], band) for part, band in bands.items() if band is not None]
    return tuple(found) if len(found) == len(shares) else ()


def as_measured(plan: Plan) -> bool:
    """Whether an RDU's plan is like those that were measured: a loop of the AGCUs, and held up by bytes from HBM."""
    if not any(call.iterations > 1 for call in plan.calls):
        return False
    amounts = {**asdict(graph_demand(plan.graph)), "hbm_bytes": compulsory(plan.graph).total_bytes}
    rates = plan.rates.achievable_by_resource
    least_s = {sort: amount / rates[sort] for sort, amount in amounts.items() if amount and rates.get(sort)}
    longest = max(least_s, key=lambda sort: least_s[sort], default="")
    return (plan.mode, plan.launch.mode, longest) == MEASURED


def parts_of(plan: Plan) -> Mapping[str, Part]:
    """Which part each call is of, by its name; a call that combines another's parts is of the other's."""
    nodes = {node.name: node for _, node in plan.graph.nodes()}
    own = {call.name: part_of(call, [nodes[name] for name in call.nodes]) for call in plan.calls}
    return {call.name: own[call.combines or call.name] for call in plan.calls}


def part_of(call: Call, nodes: Sequence[Node]) -> Part:
    """A kernel of products is a GEMM; attention, where it reduces between its two; of many products, GEMMs again."""
    if call.collective:
        return "collectives"
    return _part_of_nodes(nodes)


def _part_of_nodes(nodes: Sequence[Node]) -> Part:
    products = sum(has(node, "contracts") for node in nodes)
    if products == 2 and any(has(node, "reduces") for node in nodes):
        return "attention"
    return "gemm" if products else "small_kernels"


def _shares(plan: Plan, call: Call, part: Part) -> Mapping[Part, float]:
    """The shares of a call's time by part: all is of its own part, unless it is of several blocks."""
    if call.block:
        return {part: 1.0}
    least_s = dict.fromkeys(PARTS, 0.0)
    for block in plan.graph.blocks:
        node_named = {node.name: node for node in block.nodes}
        for nest in call.tiling.nests:
            nodes = [node_named[name] for name in nest.nodes if name in node_named]
            if nodes:
                sums = any(has(node, "communicates") for node in nodes)
                least_s["collectives" if sums else _part_of_nodes(nodes)] += _least_s(plan, block, nodes)
    whole_s = sum(least_s.values())
    return {one: time_s / whole_s for one, time_s in least_s.items() if time_s} or {part: 1.0}


def _least_s(plan: Plan, block: Block, nodes: Sequence[Node]) -> float:
    """Seconds that nodes of a block take at least in a run: the slowest of their work, each sort at its rate."""
    names = [node.name for node in nodes]
    demand = group_demand(plan.graph, block.name, names)
    amounts = {**asdict(demand), "hbm_bytes": group_traffic(plan.graph, block.name, names).total_bytes}
    rates = plan.rates.achievable_by_resource
    return block.count * max((amount / rates[sort] for sort, amount in amounts.items() if amount), default=0.0)


def combined(parts: Sequence[PartBand]) -> tuple[float, float] | None:
    """(low, high) in percent of the predicted time: as if all parts were off the same way at once; None of none."""
    if not parts:
        return None
    return (
        sum(one.share * one.band.low_percent for one in parts),
        sum(one.share * one.band.high_percent for one in parts),
    )

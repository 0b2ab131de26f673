"""From an Execution to a Report: every number that is read off a run, checked against the others.

All sums are over calls with their counts, in exact fractions or in integer picoseconds, and rounded down at the end.
A check that fails here is a bug in a machine's model or in the simulator, and raises.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import get_args

from patterns.count import compulsory
from patterns.counting.needed import needed_demand
from patterns.errors import BrokenInvariant
from patterns.graph import Graph
from patterns.pipeline.bounds import limiting_unit
from patterns.pipeline.calls import DEVICE, GAP, HOST, LINK, PROLOGUE
from patterns.pipeline.overlap import EXPOSED, account
from patterns.pipeline.program import Program
from patterns.pipeline.timeline import Timeline
from patterns.pipeline.waterfall import explain
from patterns.plan import Call, Level, Plan, Resource
from patterns.report import (
    OVERLAP_PARTS,
    PICOSECONDS,
    WATERFALL_PARTS,
    CallCount,
    CallRun,
    Execution,
    Launching,
    Report,
)
from patterns.spent import energy_of

Parts = tuple[tuple[str, int], ...]
Amounts = tuple[tuple[Resource, int], ...]
# What a call's own waterfall adds to the plan's, and what the device's gaps add to both accounts.
_CALL_STEPS = ("fill", "drain", "exposed_matrix", "exposed_vector", "exposed_memory", "exposed_network", "latency")
_CALL_OR_GAP_STEPS = ("issue", "synchronisation", "launch")
_GAPS = ("synchronisation", "launch", "idle")


@dataclass(frozen=True)
class CallSums:
    """One distinct call of a plan, and what a single launch of it comes to, in picoseconds."""

    call: Call
    duration_ps: int
    overlap_ps: Parts
    waterfall_ps: Parts


def summarize(execution: Execution) -> Report:
    """The Report of a run that was simulated with spans."""
    plan = execution.plan
    time_ps = execution.schedule.total_cycles
    sums = _call_sums(execution)
    bound, bound_ps = bound_of(plan)
    gaps = _device_gaps(execution, sums)
    check_rates(execution, bound, bound_ps)
    counts = counted_by_block(plan)
    return Report(
        machine=plan.machine,
        family=plan.family,
        mode=plan.mode,
        members=plan.members,
        calls=sum(count.total for count in counts),
        calls_by_block=counts,
        calls_per_layer=per_layer(counts),
        time_ps=time_ps,
        bound_ps=bound_ps,
        bound=bound,
        bytes=bytes_moved(plan),
        overlap_ps=_exact("overlap", _overlap(sums, gaps), OVERLAP_PARTS, time_ps),
        waterfall_ps=_exact("waterfall", _waterfall(plan, sums, gaps, bound_ps, time_ps), WATERFALL_PARTS, time_ps),
        utilization=_utilization(execution, time_ps),
        warnings=plan.warnings,
        launching=_launching(execution, gaps),
        energy=energy_of(plan, time_ps),
    )


@lru_cache(maxsize=64)
def compulsory_work(graph: Graph, off_chip: Resource = "hbm_bytes") -> Amounts:
    """What a run of the graph must do on any machine: work that is needed, and every byte that must cross once.

    off_chip: the memory that it crosses to.
    """
    demand = needed_demand(graph)
    return (
        ("matrix_flops", demand.matrix_flops),
        ("vector_ops", demand.vector_ops),
        ("special_ops", demand.special_ops),
        (off_chip, compulsory(graph).total_bytes),
        ("network_bytes", demand.network_bytes),
    )


def picoseconds(work: Amounts, rates: Mapping[str, float]) -> dict[str, Fraction]:
    """How long each resource takes for its work at its rate; one without a rate limits nothing."""
    return {
        resource: Fraction(amount * PICOSECONDS) / Fraction(rates[resource])
        for resource, amount in work
        if resource in rates
    }


def bound_of(plan: Plan) -> tuple[str, int]:
    """The resource that takes longest for the graph's compulsory work at the datasheet's rates, and how long."""
    off_chip = plan.rates.off_chip
    work = dict(compulsory_work(plan.graph, off_chip))
    work[off_chip] = max(0, work[off_chip] - plan.kept_bytes - plan.spilled_bytes)
    work["ddr_bytes"] = work.get("ddr_bytes", 0) + plan.spilled_bytes
    times = picoseconds(tuple(work.items()), plan.rates.peak_by_resource)
    limiter = max(times, key=lambda resource: times[resource], default="")
    return limiter, int(times.get(limiter, 0))


def _call_sums(execution: Execution) -> list[CallSums]:
    """Every distinct call's account and waterfall; calls that share a Timeline share the cycles behind them."""
    read: dict[int, tuple[Parts, Parts]] = {}
    sums = []
    for call, run in zip(execution.plan.calls, execution.calls, strict=True):
        key = id(run.timeline)
        if key not in read:
            read[key] = account(call.program, run.timeline), explain(call.program, run.timeline)
        overlap, waterfall = (_to_ps(parts, run) for parts in read[key])
        sums.append(CallSums(call, run.duration_ps, overlap, _named(waterfall, call, execution.plan)))
    return sums


def _named(waterfall: Parts, call: Call, plan: Plan) -> Parts:
    """The waterfall of a call that issuing, synchronising or launching limits, its excess named so.

    The limiting unit's work is what keeps the call from being shorter. Where that unit does no work of the graph, only
    as much of it counts as work as the graph's work takes; the rest is what the unit is for.
    """
    name = EXPOSED[limiting_unit(call.program).unit_class] if call.program.units else ""
    if name not in _CALL_OR_GAP_STEPS:
        return waterfall
    needed = int(max(picoseconds(call.work, plan.rates.achievable_by_resource).values(), default=0))
    parts = dict(waterfall)
    excess = max(0, parts["work"] - needed)
    return tuple((parts | {"work": parts["work"] - excess, name: parts[name] + excess}).items())


def _to_ps(parts: Parts, run: CallRun) -> Parts:
    """Cycles to picoseconds such that the parts add up to the call's whole time: ends are rounded, not lengths."""
    cycles = run.timeline.total_cycles
    ends = accumulate((amount for _, amount in parts), initial=0)
    ticks = [run.duration_ps * end // cycles if cycles else 0 for end in ends]
    return tuple((name, after - before) for (name, _), (before, after) in zip(parts, pairwise(ticks), strict=True))


def _total(sums: Iterable[CallSums], parts: Callable[[CallSums], Parts]) -> Counter[str]:
    """Parts of all launches."""
    total: Counter[str] = Counter()
    for one in sums:
        for name, amount_ps in parts(one):
            total[name] += amount_ps * one.call.count
    return total


def _device_gaps(execution: Execution, sums: list[CallSums]) -> Counter[str]:
    """Picoseconds in which the device runs no call, by what it waits for."""
    schedule = dict(account(execution.schedule_program, execution.schedule))
    gaps = Counter({name: schedule.pop(name) for name in _GAPS})
    running = sum(one.duration_ps * one.call.count for one in sums)
    if sum(schedule.values()) != running:
        raise BrokenInvariant(f"{execution.plan.machine}: calls take {running} ps, the device is busy for {schedule}")
    return gaps


def _launching(execution: Execution, gaps: Counter[str]) -> Launching:
    """What the host did, and whether that or the device is what takes longest."""
    busy: Counter[str] = Counter(execution.schedule.busy_cycles)
    device_ps = busy[DEVICE] + busy[LINK] + busy[GAP]
    return Launching(busy[HOST] + busy[PROLOGUE], gaps["launch"], busy[HOST] > device_ps)


def _overlap(sums: list[CallSums], gaps: Counter[str]) -> Counter[str]:
    return _total(sums, lambda one: one.overlap_ps) + gaps


def _waterfall(plan: Plan, sums: list[CallSums], gaps: Counter[str], bound_ps: int, time_ps: int) -> dict[str, int]:
    """Steps from the speed of light to the simulated time: differences of levels that never fall."""
    inside = _total(sums, lambda one: one.waterfall_ps)
    levels = {"speed_of_light": bound_ps, **_work_levels(plan), "imbalance": inside["work"]}
    level = inside["work"]
    for step in _CALL_STEPS + _CALL_OR_GAP_STEPS:
        level += inside[step] + gaps[step]
        levels[step] = level
    reached = [min(height, time_ps) for height in accumulate(levels.values(), max, initial=0)]
    return {step: after - before for step, (before, after) in zip(levels, pairwise(reached), strict=True)}


def _work_levels(plan: Plan) -> dict[str, int]:
    """What the calls' work takes: each resource over all calls, call by call, and call by call at achievable rates."""
    peak, achievable = plan.rates.peak_by_resource, plan.rates.achievable_by_resource
    together: dict[str, Fraction] = defaultdict(Fraction)
    apart = slowed = Fraction(0)
    for call in plan.calls:
        at_peak = picoseconds(call.work, peak)
        for resource, needed in at_peak.items():
            together[resource] += needed * call.count
        apart += max(at_peak.values(), default=Fraction(0)) * call.count
        reached: dict[str, float] = {**achievable}
        reached.update((name, achievable[name] * share) for name, share in call.reach)
        slowed += max(picoseconds(call.work, reached).values(), default=Fraction(0)) * call.count
    extra = max(together.values(), default=0)
    return {"extra_work": int(extra), "separate_calls": int(apart), "below_peak": int(slowed)}


def _exact(what: str, parts: Mapping[str, int], order: tuple[str, ...], time_ps: int) -> Parts:
    """The parts in order. Raises if one is negative or their sum is not the whole time."""
    if set(parts) - set(order) or min(parts.values(), default=0) < 0 or sum(parts.values()) != time_ps:
        raise BrokenInvariant(f"{what} does not add up to {time_ps}: {dict(parts)}")
    return tuple((name, parts.get(name, 0)) for name in order)


def check_rates(execution: Execution, bound: str, bound_ps: int) -> None:
    """Nothing is faster than the datasheet says: not the run, and no call. Raises BrokenInvariant."""
    plan, time_ps = execution.plan, execution.schedule.total_cycles
    if time_ps < bound_ps:
        raise BrokenInvariant(f"{plan.machine}: {time_ps} ps is below the bound of {bound_ps} ps by {bound}")
    for call, run in zip(plan.calls, execution.calls, strict=True):
        for resource, amount in call.work:
            if run.duration_ps < _whole_ps(amount, plan.rates.peak_by_resource.get(resource)):
                raise BrokenInvariant(f"{plan.machine}: call {call.name} exceeds the peak rate of {resource}")


def _whole_ps(amount: int, rate: float | None) -> int:
    """The whole picoseconds of an amount at a rate, exactly; 0 of what has none."""
    if rate is None:
        return 0
    numerator, denominator = rate.as_integer_ratio()
    return amount * PICOSECONDS * denominator // numerator


def counted_by_block(plan: Plan) -> tuple[CallCount, ...]:
    """Launches by block, in order of first appearance; one where all calls are parts of one launch."""
    if plan.launch.together and plan.calls:
        return (CallCount("", 1, 1, 1),)
    by_block: dict[str, list[Call]] = {}
    for call in plan.calls:
        by_block.setdefault(call.block, []).append(call)
    return tuple(_count(block, calls) for block, calls in by_block.items())


def _count(block: str, calls: list[Call]) -> CallCount:
    """A block is executed as often as its most frequent call covers it, by launches and iterations inside one."""
    executions = max(call.count * call.iterations for call in calls)
    per_execution = sum(call.count * call.iterations == executions for call in calls)
    return CallCount(block, executions, per_execution, sum(call.count for call in calls))


def per_layer(counts: tuple[CallCount, ...]) -> int | None:
    """Launches for one execution of the block that is executed most; None if none is repeated."""
    most = max(counts, key=lambda count: count.executions, default=None)
    return most.per_execution if most is not None and most.executions > 1 else None


def bytes_moved(plan: Plan) -> tuple[tuple[str, int], ...]:
    """Traffic of the whole run over all members."""
    moved = Counter(dict.fromkeys(get_args(Level), 0))
    for call in plan.calls:
        for level, amount in call.traffic:
            moved[level] += amount * call.count * plan.members
    return tuple(moved.items())


def _utilization(execution: Execution, time_ps: int) -> tuple[tuple[str, float], ...]:
    """Shares of the whole time: of each resource at its datasheet rate, and of the lanes of each unit class."""
    plan = execution.plan
    used: dict[str, Fraction] = defaultdict(Fraction)
    for call, run in zip(plan.calls, execution.calls, strict=True):
        for resource, needed in picoseconds(call.work, plan.rates.peak_by_resource).items():
            used[resource] += needed * call.count
        for unit_class, share in _lanes_busy(call.program, run.timeline):
            used[unit_class] += share * run.duration_ps * call.count
    return tuple((name, float(amount / time_ps)) for name, amount in used.items() if amount and time_ps)


def _lanes_busy(program: Program, timeline: Timeline) -> list[tuple[str, Fraction]]:
    """The mean share of a call's time in which a lane of a unit class is busy."""
    lanes: Counter[str] = Counter()
    busy: Counter[str] = Counter()
    for unit in program.units:
        lanes[unit.unit_class] += unit.lanes
        busy[unit.unit_class] += timeline.busy_cycles[unit.name]
    whole = timeline.total_cycles
    return [(name, Fraction(busy[name], whole * lanes[name])) for name in lanes] if whole else []

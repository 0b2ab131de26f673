"""A plan as text: its calls with reasons, what was refused, one call's listing and time line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.text.launching import launching_line
from experiments.text.memory import memory_parts
from experiments.text.page import Code, Part, Verbatim
from experiments.text.quantity import bytes_text, time_text
from experiments.text.states import states_parts
from experiments.text.table import Column, Table
from patterns.counting.gains import Gain, gains
from patterns.errors import UnknownName
from patterns.pipeline.listing import listing
from patterns.pipeline.text import text_timeline, timeline_line
from patterns.plural import number_of
from patterns.summarize import summarize

if TYPE_CHECKING:
    from patterns.pipeline.timeline import Timeline
    from patterns.plan import Call, Plan
    from patterns.report import Execution


FEW_CYCLES = 12_000
FEW_USES = 8
FEW_NODES = 4


def plan_parts(execution: Execution, apart: Plan | None) -> list[Part]:
    """Every call of a plan: how often, how long, which nodes and why; what fusing saves; what was refused and why.

    apart: the same graph on the same machine with a call for each node, if it can be run so.
    """
    plan = execution.plan
    in_all = sum(call.count for call in plan.calls)
    columns = (
        Column("call", right=False),
        Column("block", right=False),
        Column("times"),
        Column("time each"),
        Column("bytes each"),
        Column("schedule", right=False),
    )
    rows = tuple(call_row(execution, call) for call in plan.calls)
    counts = f"{number_of(len(plan.calls), 'distinct call')}, {in_all:,} in all"
    return [
        f"{plan.graph.name} on {plan.members} x {plan.machine}, {plan.mode}: {counts}",
        Table(columns, rows),
        launching_line(summarize(execution).launching, plan.launch.mode),
        "What each call holds, and why:\n" + "\n".join(call_line(call) for call in plan.calls),
        saved(plan, apart),
        schedule_reasons(plan),
        refusals(plan),
        *memory_parts(plan),
        *(f"Warning: {warning}" for warning in plan.warnings),
    ]


def call_row(execution: Execution, call: Call) -> tuple[str, ...]:
    """The cells of one call; bytes are those off the chip."""
    off_chip = sum(amount for level, amount in call.traffic if level in ("hbm", "ddr"))
    times = f"{call.count:,}" + (f" (x {call.iterations} inside)" if call.iterations > 1 else "")
    duration = time_text(execution.call_named[call.name].duration_ps)
    return call.name, call.block or "several", times, duration, bytes_text(off_chip), call.schedule


def call_line(call: Call) -> str:
    """The nodes of a call and the reason for it."""
    held = ", ".join(call.nodes) if call.nodes else f"finishes {call.combines}"
    return f"  {call.name}  {held}" + (f": {call.reason}" if call.reason else "")


def saved(plan: Plan, apart: Plan | None) -> str:
    """What calls of several nodes save in a run, '' if there are none."""
    if apart is None:
        return ""
    lines = [f"  {gain.call}  {gain_text(gain)}" for gain in gains(plan, apart)]
    return (
        f"What fusing saves in a run, beside a call for each node ({apart.mode}):\n" + "\n".join(lines) if lines else ""
    )


def gain_text(gain: Gain) -> str:
    """Calls, bytes and work, those that are not 0."""
    told = [number_of(gain.launches, "call")] if gain.launches else []
    if gain.num_bytes:
        told.append(f"{bytes_text(abs(gain.num_bytes))} off-chip{' more' if gain.num_bytes < 0 else ''}")
    if gain.extra_work:
        told.append(f"for {abs(gain.extra_work):,} FLOPs and ops {'more' if gain.extra_work > 0 else 'less'}")
    return ", ".join(told) or "nothing"


def schedule_reasons(plan: Plan) -> str:
    """Why calls have their schedules; '' if none was chosen among several."""
    told = [(call.name, f"{call.schedule}: {call.schedule_reason}") for call in plan.calls if call.schedule_reason]
    return "How schedules were chosen:\n" + "\n".join(f"  {name}  {why}" for name, why in told) if told else ""


def refusals(plan: Plan) -> str:
    """What did not become one call, '' if nothing was refused."""
    if not plan.refusals:
        return ""
    return "Refused:\n" + "\n".join(f"  {together(r.nodes)}  {r.reason}" for r in plan.refusals)


def together(nodes: tuple[str, ...]) -> str:
    """The names of nodes that might have been one call; of many, the first and the last."""
    if len(nodes) <= FEW_NODES:
        return " + ".join(nodes)
    return f"{nodes[0]} + ... + {nodes[-1]} ({len(nodes)} nodes)"


def call_named(execution: Execution, name: str) -> str:
    """The name of the call that is asked for; '' asks for the only one. Raises UnknownName."""
    names = [call.name for call in execution.plan.calls]
    if name and name not in names:
        raise UnknownName("call", name, names)
    return name or (names[0] if len(names) == 1 else "")


def first_periods(timeline: Timeline) -> int:
    """Cycles that show the first few uses of the unit that is held longest at a time."""
    longest = max((span.end - span.start for span in timeline.spans), default=0)
    return min(timeline.total_cycles, max(FEW_CYCLES, FEW_USES * longest))


def call_parts(execution: Execution, name: str, cycles: int | None, cells: int) -> list[Part]:
    """One call: its pseudo-code, then what each of its units does in the first cycles; a cell shows its midpoint."""
    call, run = execution.plan.call_named[name], execution.call_named[name]
    until = first_periods(run.timeline) if cycles is None else cycles or run.timeline.total_cycles
    until = max(1, min(until, run.timeline.total_cycles))
    # Where tiles are only under way nothing is ever busy: an empty lane says nothing.
    busy = {span.unit for span in run.timeline.spans if span.end > span.start}
    units = [unit.name for unit in call.program.units if unit.name in busy]
    width = max(6, *(len(unit) + 1 for unit in units)) if units else 6
    lines = [timeline_line(unit.upper(), text_timeline(run.timeline, unit, until, cells), width) for unit in units]
    scale = f"{name}: cycles 0 to {until:,} of {run.timeline.total_cycles:,}, {until / cells:,.0f} a cell"
    states = states_parts(call.program, run.timeline) if execution.plan.family == "gpu" else []
    return [Code(listing(call.program).rstrip("\n")), scale, Verbatim("\n".join(lines)), *states]

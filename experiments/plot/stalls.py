"""What roles wait for: of one call of each machine the share of its time that each role runs, or waits and for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.charting.columns import Record, shown
from experiments.charting.examples import examples
from experiments.charting.pair import run_name
from experiments.charting.palette import AMBER, ASH, BLUE, PURPLE, RED, SAND
from experiments.charting.sheet import ONE_COLUMN, both_widths, legend_below, name_panel, sheet
from experiments.picture import Picture
from experiments.text.comparison import title
from patterns.pipeline.warp_states import RoleStates, role_states
from patterns.plural import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.compare import Comparison, Outcome
    from patterns.plan import Call

OF = "comparison"
MOST_ROLES = 14
ROW_INCHES = 0.17
WORKS, ENDED = "works", "ended"
# What the first word of a stall means, and how it is drawn.
CAUSES: Mapping[str, tuple[str, str, str]] = {
    WORKS: ("computes or issues", "#333333", ""),
    "on": ("moves bytes itself", ASH, ""),
    "wait": ("waits for data", BLUE, "////"),
    "acquire": ("waits for a free slot", AMBER, "\\\\\\\\"),
    "unit": ("waits for its unit", RED, "xxxx"),
    "finish": ("waits for what it started", PURPLE, "...."),
    "await": ("waits for its turn", SAND, "||||"),
    ENDED: ("has ended", "#eeeeee", ""),
}


def draw(comparison: Comparison) -> Picture:
    """A bar a role in percent of the call's cycles, those first that do most themselves."""
    titles = {call_title(*example): stall_rows(*example) for example in examples(comparison)}
    rows = [row for part in titles.values() for row in part]
    return both_widths(lambda width: _figure(width, title(comparison), titles), rows)


def call_title(outcome: Outcome, call: Call) -> str:
    """Which call of which run."""
    return f"{run_name(outcome.report)}: call {call.name}"


def stall_rows(outcome: Outcome, call: Call) -> list[dict[str, object]]:
    """Cycles of every role by cause; they add up to the call's cycles."""
    timeline = outcome.execution.call_named[call.name].timeline
    total = timeline.total_cycles
    states = sorted(role_states(call.program, timeline), key=lambda one: -_worked(one))
    return [
        {
            "run": run_name(outcome.report),
            "call": call.name,
            "role": one.role,
            "cause": cause,
            "cycles": cycles,
            "percent": 100 * cycles / total if total else 0.0,
        }
        for one in states
        for cause, cycles in _causes(one, total).items()
    ]


def _causes(states: RoleStates, total: int) -> dict[str, int]:
    """Cycles by cause, those that take any, in the order of CAUSES."""
    cycles = Counter({WORKS: states.eligible_cycles, ENDED: total - states.active_cycles})
    for what, amount in states.stalled:
        cycles[what.partition(" ")[0]] += amount
    return {CAUSES[cause][0]: cycles[cause] for cause in CAUSES if cycles[cause]}


def _worked(states: RoleStates) -> int:
    """Cycles in which a role issues, or moves bytes itself."""
    return states.eligible_cycles + sum(cycles for what, cycles in states.stalled if what.startswith("on "))


def _figure(width: float, heading: str, titles: Mapping[str, Sequence[Record]]) -> Figure:
    roles = [list(dict.fromkeys(row["role"] for row in part)) for part in titles.values()]
    heights = [0.45 + ROW_INCHES * min(MOST_ROLES, len(names)) for names in roles]
    figure = sheet(width, 0.35 + sum(heights), f"{heading}\nwhat the roles of a call wait for")
    panels = figure.subplots(len(heights), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for axes, (name, part), names in zip(panels, titles.items(), roles, strict=True):
        left_out = len(names) - MOST_ROLES
        note = f"; {number_of(left_out, 'role')} that {'do' if left_out > 1 else 'does'} less not shown"
        name_panel(axes, name + (note if left_out > 0 else ""), width)
        _panel(axes, part, names[:MOST_ROLES], 18 if width == ONE_COLUMN else 36)
    panels[-1].set_xlabel("% of the call's cycles")
    panels[-1].set_xlim(0, 100)
    legend_below(figure, _legend([row for part in titles.values() for row in part]))
    return figure


def _panel(axes: Axes, rows: Sequence[Record], roles: Sequence[str], letters: int) -> None:
    """Stacked bars, causes in their order."""
    left = dict.fromkeys(roles, 0.0)
    for name, color, hatch in CAUSES.values():
        for row in rows:
            if row["cause"] == name and row["role"] in left:
                height, start = roles.index(row["role"]), left[row["role"]]
                axes.barh(
                    height,
                    row["percent"],
                    left=start,
                    height=0.8,
                    color=color,
                    hatch=hatch,
                    edgecolor="white",
                    linewidth=0.3,
                )
                left[row["role"]] += row["percent"]
    axes.set_yticks(range(len(roles)), [shown(role, letters) for role in roles])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(roles) - 0.4, -0.6)


def _legend(rows: Sequence[Record]) -> dict[str, object]:
    from matplotlib.patches import Patch

    used = {row["cause"] for row in rows}
    return {
        name: Patch(facecolor=color, hatch=hatch, edgecolor="white")
        for name, color, hatch in CAUSES.values()
        if name in used
    }

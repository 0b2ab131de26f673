"""Calls as points under the roofs of both machines: operations per off-chip byte, and operations per second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING, Any

from experiments.charting.columns import Record, shown
from experiments.charting.pair import pair, run_name
from experiments.charting.palette import BLUE, RED, dark
from experiments.charting.scales import log_ticks, name_log_ticks
from experiments.charting.sheet import ONE_COLUMN, both_widths, legend_below, sheet
from experiments.picture import Picture
from experiments.text.comparison import RESOURCE_TITLES, title
from experiments.text.quantity import scaled
from patterns.report import PICOSECONDS
from patterns.summarize import picoseconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.compare import Comparison, Outcome

OF = "comparison"
OPERATIONS = ("matrix_flops", "vector_ops", "special_ops")
COLORS = (BLUE, RED)
# Markers by what a call has most of, in time at the datasheet's rates.
MARKERS = {
    "matrix_flops": "s",
    "vector_ops": "^",
    "special_ops": "v",
    "hbm_bytes": "o",
    "ddr_bytes": "p",
    "l2_bytes": "D",
    "network_bytes": "P",
}
NAMED, NAME_LETTERS = 3, 26
# Of a name: its height in points, and of a letter how wide it is beside that. Of the axes: points for each inch of the
# figure's width, and their height.
NAME_POINTS, LETTER = 6, 0.6
POINTS_AN_INCH, HEIGHT_POINTS = 64, 190
# Left, right, foot and top, in points.
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Frame:
    """The axes: what they span, both logarithmic, and about how wide and high they are in points."""

    x: tuple[float, float]
    y: tuple[float, float]
    points: float

    def box(self, at: tuple[float, float], name: str, left: bool, above: float) -> Box:
        """Where a name stands that begins or ends at a point, so many points above it."""
        x, y = (
            size * log(value / low) / log(high / low)
            for value, (low, high), size in ((at[0], self.x, self.points), (at[1], self.y, HEIGHT_POINTS))
        )
        long = len(name) * NAME_POINTS * LETTER
        foot = y + above - (NAME_POINTS if above < 0 else 0)
        return (x - long, x, foot, foot + NAME_POINTS) if left else (x, x + long, foot, foot + NAME_POINTS)


@dataclass(frozen=True)
class Roof:
    """A machine's rates: off-chip bytes and operations a second, as the datasheet says and as achieved."""

    run: str
    memory_per_s: float
    operations_per_s: float
    achieved_memory_per_s: float
    achieved_operations_per_s: float


def draw(comparison: Comparison) -> Picture:
    """One panel: calls of both machines that move off-chip bytes and compute, the larger the more time goes there."""
    outcomes = pair(comparison)
    rows = [row for outcome in outcomes for row in point_rows(outcome)]
    roofs = [roof_of(outcome, rows) for outcome in outcomes]
    return both_widths(lambda width: _figure(width, title(comparison), rows, roofs), [*rows, *roof_rows(roofs)])


def point_rows(outcome: Outcome) -> list[dict[str, object]]:
    """The calls as points; those without operations or without off-chip bytes have no place under a roof."""
    plan = outcome.execution.plan
    rows = []
    for call in plan.calls:
        work: dict[str, int] = {**dict(call.work)}
        operations, moved = sum(work.get(name, 0) for name in OPERATIONS), work.get(plan.rates.off_chip, 0)
        duration_ps = outcome.execution.call_named[call.name].duration_ps
        if operations and moved and duration_ps:
            least = picoseconds(call.work, plan.rates.peak_by_resource)
            rows.append(
                row(
                    run_name(outcome.report),
                    call.name,
                    operations / moved,
                    operations * PICOSECONDS / duration_ps,
                    max(least, key=lambda resource: least[resource]),
                    duration_ps * call.count,
                    bool(work.get("matrix_flops")),
                )
            )
    return rows


def row(
    run: str, call: str, ops_per_byte: float, ops_per_s: float, limit: str, time_ps: int | str, matrix: bool | str
) -> dict[str, object]:
    """One row of the picture's data: a call, or a corner of a roof."""
    return {
        "run": run,
        "call": call,
        "ops_per_byte": ops_per_byte,
        "ops_per_s": ops_per_s,
        "limit": limit,
        "time_ps": time_ps,
        "matrix": matrix,
    }


def roof_of(outcome: Outcome, rows: Sequence[Record]) -> Roof:
    """The roof of a run: of matrix operations, or of vector operations if no call has any others."""
    rates = outcome.execution.plan.rates
    own = [one for one in rows if one["run"] == run_name(outcome.report)]
    top = "matrix_flops" if any(one["matrix"] for one in own) or not own else "vector_ops"
    peak, achieved = rates.peak_by_resource, rates.achievable_by_resource
    memory = rates.off_chip
    return Roof(
        run_name(outcome.report),
        peak[memory],
        peak[top],
        achieved.get(memory, peak[memory]),
        achieved.get(top, peak[top]),
    )


def roof_rows(roofs: Sequence[Roof]) -> list[dict[str, object]]:
    """The corners of the roofs as data: where memory and operations take as long."""
    found = []
    for roof in roofs:
        for name, memory, operations in (
            ("peak roof", roof.memory_per_s, roof.operations_per_s),
            ("achievable roof", roof.achieved_memory_per_s, roof.achieved_operations_per_s),
        ):
            found.append(row(roof.run, name, operations / memory, operations, "", "", ""))
    return found


def _figure(width: float, heading: str, rows: Sequence[Record], roofs: Sequence[Roof]) -> Figure:
    figure = sheet(width, 3.4 if width == ONE_COLUMN else 3.9, heading)
    axes = figure.subplots()
    colors = {roof.run: COLORS[place % 2] for place, roof in enumerate(roofs)}
    corners = [roof.operations_per_s / roof.memory_per_s for roof in roofs]
    xs = [*(one["ops_per_byte"] for one in rows), *corners]
    low, high = min(xs) / 3, max(xs) * 5
    for roof in roofs:
        _roof(axes, roof, low, high, colors[roof.run])
    ys = [*(one["ops_per_s"] for one in rows), *(roof.operations_per_s for roof in roofs)]
    floor, top = min(ys) / 4, max(ys) * 4
    _points(axes, rows, colors, Frame((low, high), (floor, top), POINTS_AN_INCH * width))
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(floor, top))
    name_log_ticks(axes.xaxis, log_ticks(low, high))
    name_log_ticks(axes.yaxis, log_ticks(floor, top))
    axes.set(xlabel="operations per off-chip byte", ylabel="operations/s of one member")
    axes.grid(visible=True)
    legend_below(figure, _legend(rows, roofs, colors))
    return figure


def _roof(axes: Axes, roof: Roof, low: float, high: float, color: str) -> None:
    """The roof as the datasheet has it, and dashed what is achieved."""
    for memory, operations, dash in (
        (roof.memory_per_s, roof.operations_per_s, "-"),
        (roof.achieved_memory_per_s, roof.achieved_operations_per_s, "--"),
    ):
        corner = operations / memory
        axes.plot([low, corner, high], [low * memory, operations, operations], dash, color=color, linewidth=1.1)


def _points(axes: Axes, rows: Sequence[Record], colors: Mapping[str, str], frame: Frame) -> None:
    """Calls; of each run those with most time have their names, where these lie on no other: of the first run above
    them, and towards the middle.
    """
    names: list[Box] = []
    for above, (run, color) in zip((True, False), colors.items(), strict=False):
        own = sorted((one for one in rows if one["run"] == run), key=lambda one: -one["time_ps"])
        most = max((one["time_ps"] for one in own), default=1)
        for place, one in enumerate(own):
            size = 8 + 60 * one["time_ps"] / most
            axes.scatter(
                [one["ops_per_byte"]],
                [one["ops_per_s"]],
                s=size,
                marker=MARKERS[one["limit"]],
                facecolor=color,
                edgecolor="white",
                linewidth=0.4,
                alpha=0.85,
                zorder=3,
            )
            left, clear = one["ops_per_byte"] > sqrt(frame.x[0] * frame.x[1]), sqrt(size) / 2 + 2.5
            name = shown(one["call"], NAME_LETTERS)
            box = frame.box((one["ops_per_byte"], one["ops_per_s"]), name, left, clear if above else -clear)
            if place < NAMED and not any(overlap(box, other) for other in names):
                names.append(box)
                axes.annotate(
                    name,
                    (one["ops_per_byte"], one["ops_per_s"]),
                    xytext=(-2 if left else 2, clear if above else -clear),
                    textcoords="offset points",
                    ha="right" if left else "left",
                    va="bottom" if above else "top",
                    fontsize=NAME_POINTS,
                    color=dark(color),
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.3},
                    zorder=4,
                )


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share room."""
    return all(
        low < high for low, high in ((one[0], other[1]), (other[0], one[1]), (one[2], other[3]), (other[2], one[3]))
    )


def _legend(rows: Sequence[Record], roofs: Sequence[Roof], colors: Mapping[str, str]) -> dict[str, Any]:
    from matplotlib.lines import Line2D

    entries: dict[str, Any] = {
        f"{roof.run}: {scaled(roof.memory_per_s, 'B/s')}, {scaled(roof.operations_per_s, 'op/s')}": Line2D(
            [], [], color=colors[roof.run], linewidth=1.1
        )
        for roof in roofs
    }
    entries["achievable rates"] = Line2D([], [], color="#333333", linestyle="--", linewidth=1.1)
    for limit, marker in MARKERS.items():
        if any(one["limit"] == limit for one in rows):
            entries[f"a call, most work: {RESOURCE_TITLES[limit]}"] = Line2D(
                [], [], color="#333333", linestyle="", marker=marker, markersize=4
            )
    return entries

"""When everything happens: the calls of a whole run, and one execution of its block, GPU and RDU on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.charting.blocks import Block, put_together
from experiments.charting.lanes import CLASS_STYLES, PART_STYLES, draw_blocks, style_entries
from experiments.charting.pair import pair, run_title
from experiments.charting.scales import make_linear
from experiments.charting.sheet import ONE_COLUMN, both_widths, legend_below, name_panel, sheet
from experiments.charting.whole import CLASS_LANES, LEVEL_LANES, level_blocks, middle_part, part_blocks
from experiments.picture import Picture
from experiments.text.comparison import title
from experiments.text.quantity import time_text, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.compare import Comparison, Outcome

OF = "comparison"
LANE_INCHES = 0.16
TITLE_INCHES = 0.4


@dataclass(frozen=True)
class View:
    """Some time of one run. begin_ps: in the run. group: the views that share an axis."""

    group: str
    run: str
    title: str
    begin_ps: int
    length_ps: int
    blocks: tuple[Block, ...]

    @property
    def lanes(self) -> tuple[str, ...]:
        """Lanes that something is on, from the top down."""
        used = {block.lane for block in self.blocks}
        known = [lane for lane in (*LEVEL_LANES, *CLASS_LANES) if lane in used]
        return (*known, *sorted(used - set(known)))


def draw(comparison: Comparison) -> Picture:
    """Both machines' runs on one axis; below, where a block repeats, one execution of it on another.

    A call has the colour of what it has most of. Beside calls there are the classes of units that are busy in them,
    and what their overlap counts as in the account.
    """
    found = [view for outcome in pair(comparison) for view in views_of(outcome)]
    views = [view for group in ("run", "part") for view in found if view.group == group]
    rows = [row for view in views for row in view_rows(view)]
    return both_widths(lambda width: _figure(width, title(comparison), views), rows)


def views_of(outcome: Outcome) -> tuple[View, ...]:
    """The whole run, and the part of it that tells what happens inside, if any; these may be the same."""
    execution, name = outcome.execution, run_title(outcome.report)
    part = middle_part(execution)
    if part is None:
        return (_whole(outcome),)
    inside = put_together(part_blocks(execution, part), part.end - part.begin)
    told = f"{name}, {part.name}, {time_text(part.end - part.begin)}{_note(inside)}"
    return _whole(outcome), View("part", name, told, part.begin, part.end - part.begin, inside)


def _whole(outcome: Outcome) -> View:
    name, total_ps = run_title(outcome.report), outcome.execution.schedule.total_cycles
    level = put_together(level_blocks(outcome.execution), total_ps)
    return View("run", name, f"{name}, {time_text(total_ps)}{_note(level)}", 0, total_ps, level)


def _note(blocks: Sequence[Block]) -> str:
    return "; aggregated: 'x n' is n of them" if any(block.count > 1 for block in blocks) else ""


def _figure(width: float, heading: str, views: Sequence[View]) -> Figure:
    shown = views if _repeats(views) else [view for view in views if view.group == "part"]
    heights = [TITLE_INCHES + LANE_INCHES * len(view.lanes) for view in shown]
    groups = list(dict.fromkeys(view.group for view in shown))
    figure = sheet(width, 0.2 + 0.25 * len(groups) + sum(heights), heading)
    panels = figure.subplots(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, view in zip(panels, shown, strict=True):
        same = [other for other in shown if other.group == view.group]
        _panel(axes, view, max(other.length_ps for other in same), last=view is same[-1], width=width)
    legend_below(figure, _legend(shown))
    return figure


def _repeats(views: Sequence[View]) -> bool:
    """Whether some run is not told whole by its part."""
    part = {view.run: view.length_ps for view in views if view.group == "part"}
    return any(part.get(view.run, 0) < view.length_ps for view in views if view.group == "run")


def _panel(axes: Axes, view: View, longest_ps: int, *, last: bool, width: float) -> None:
    """One view, on an axis as long as its group's longest; where a run ends sooner, a line says so."""
    step, unit = time_unit(longest_ps)
    axes.set_xlim(0, longest_ps / step or 1)
    make_linear(axes.xaxis)
    draw_blocks(axes, view.blocks, view.lanes, 1 / step, width * (0.7 if width == ONE_COLUMN else 0.85))
    axes.axvline(view.length_ps / step, color="black", linewidth=0.6, linestyle=":")
    name_panel(axes, view.title, width)
    if last:
        axes.set_xlabel(f"time, {unit}")
    else:
        axes.tick_params(labelbottom=False)


def _legend(views: Sequence[View]) -> dict[str, Any]:
    blocks = [block for view in views for block in view.blocks]
    entries = style_entries(blocks, (*CLASS_STYLES, "overlapped", "in_flight", "idle"))
    used = {block.what for block in blocks}
    exposed = {part.removeprefix("exposed_") for part in used if part in PART_STYLES and part.startswith("exposed")}
    return entries if exposed <= set(entries) else {**entries, **style_entries(blocks, PART_STYLES)}


def view_rows(view: View) -> list[dict[str, object]]:
    """The blocks as data: picoseconds of the run."""
    return [
        {
            "view": view.group,
            "run": view.run,
            "lane": block.lane,
            "label": block.label,
            "what": block.what,
            "count": block.count,
            "start_ps": view.begin_ps + block.start,
            "end_ps": view.begin_ps + block.end,
            "busy_ps": block.busy,
        }
        for block in view.blocks
    ]

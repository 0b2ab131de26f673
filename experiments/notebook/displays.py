"""How values show themselves in a notebook: tables and pictures in place of their names.

Values of this package have `_repr_html_` or `_repr_svg_` of their own. Those of patterns/ know nothing of pages:
IPython is told here how to show them, when it is running.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from patterns.errors import UserError
from patterns.graph import Graph
from patterns.plan import Plan
from patterns.report import Execution, Report

if TYPE_CHECKING:
    from experiments.compare import Comparison
    from experiments.study import Result

SVG, HTML = "image/svg+xml", "text/html"


def comparison_html(comparison: Comparison) -> str:
    """The table of calls and times, and the headline."""
    from experiments.page.parts import parts_markup
    from experiments.text.comparison import calls_table, headline_note, title

    return str(parts_markup([title(comparison), calls_table(comparison), headline_note(comparison)]))


def result_html(result: Result) -> str:
    """A study's sentence and its pictures of two columns."""
    from html import escape

    pictures = [
        content.decode() for name, content in result.files if name.endswith(".svg") and "_one_column" not in name
    ]
    return "\n".join((f"<p>{escape(result.finding)}</p>", *(picture[picture.index("<svg") :] for picture in pictures)))


def graph_svg(graph: Graph) -> str | None:
    """A drawing of the graph; None where Graphviz is not there (the extra `graph`): its text is shown then."""
    from experiments.diagram import diagram_of
    from experiments.drawings.svg import drawn

    try:
        return drawn(diagram_of(graph))
    except UserError:
        return None


def plan_html(plan: Plan) -> str:
    """Every call, with the nodes that it runs."""
    from experiments.text.table import Column, Table

    rows = tuple((call.name, f"{call.count:,}", call.schedule, " ".join(call.nodes)) for call in plan.calls)
    columns = (Column("call", right=False), Column("launches"), Column("schedule", right=False), Column("nodes", False))
    return _page([f"{plan.graph.name} on {plan.members} x {plan.machine}, {plan.mode}", Table(columns, rows)])


def execution_html(execution: Execution) -> str:
    """Every call, with the time that one launch of it takes."""
    from experiments.text.plan import plan_parts

    return _page(plan_parts(execution, None))


def report_html(report: Report) -> str:
    """The key figures: calls, time, bound, bytes and what the time goes into."""
    from experiments.export import LEVELS, complete
    from experiments.text.quantity import bytes_text, time_text
    from experiments.text.table import Column, Table
    from patterns.report import OVERLAP_PARTS

    bytes_by_level = complete(report.bytes, LEVELS, 1)
    rows = [
        ("calls", f"{report.calls:,}"),
        ("time", time_text(report.time_ps)),
        ("bound", f"{time_text(report.bound_ps)} ({report.bound})"),
        *((f"{level} bytes", bytes_text(int(amount))) for level, amount in bytes_by_level.items() if amount),
        *((f"{part.replace('_', ' ')}", time_text(dict(report.overlap_ps)[part])) for part in OVERLAP_PARTS),
    ]
    shown = tuple(row for row in rows if row[1] != time_text(0))
    title = f"{report.members} x {report.machine}, {report.mode}"
    return _page([title, Table((Column("", right=False), Column("")), shown)])


def _page(parts: list[Any]) -> str:
    from experiments.page.parts import parts_markup

    return str(parts_markup(parts))


DISPLAYS: Mapping[type, tuple[str, Callable[[Any], str | None]]] = {
    Graph: (SVG, graph_svg),
    Plan: (HTML, plan_html),
    Execution: (HTML, execution_html),
    Report: (HTML, report_html),
}


def tell_ipython() -> None:
    """Show the values of patterns/ as tables and pictures, in the IPython that runs, if one does."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        for shown, (form, display) in DISPLAYS.items():
            shell.display_formatter.formatters[form].for_type(shown, display)

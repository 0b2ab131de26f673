"""patternloom show: a graph, a plan of it, or one call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.options import (
    MAPPING_OF,
    given,
    mapping_options,
    need_of_family,
    number,
    request_of,
    workload_options,
)
from patterns.plugin import load_module, modules

if TYPE_CHECKING:
    from experiments.diagram import Diagram
    from experiments.request import Request
    from experiments.settings import Settings
    from experiments.sides import Side
    from experiments.text.page import Part
    from patterns.plan import Plan
    from patterns.report import Execution

DRAWINGS = "experiments.drawings"


@click.command
@workload_options
@click.option("--machine", help="Show the plan on this machine, whatever its family.")
@click.option("--gpu", help="Show the plan on this GPU.")
@click.option("--rdu", help="Show the plan on this RDU.")
@click.option(
    "--policy", "--mode", "mode", help="Fusion policy of a GPU or mode of an RDU.  [default: the model's own]"
)
@number("--members", 1, default=1, show_default=True, help="How many machines, tensor parallel.")
@mapping_options
@click.argument("call_name", metavar="[CALL]", default="")
@number(
    "--cycles",
    0,
    help="Draw this many cycles of the call, 0 for all.  [default: the first periods]",
)
@number("--cells", 1, default=72, show_default=True, help="Characters of the time line.")
@click.option(
    "--stage",
    metavar="STAGE",
    help="Show what one stage of an RDU's compile flow made; `patternloom list stages` tells of each.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", *modules(DRAWINGS)]),
    default="text",
    show_default=True,
    help="Tables, or a drawing: text for Graphviz or Mermaid, or a picture (needs the extra `graph`).",
)
@click.option("--outline", is_flag=True, help="Draw one box for each block, not for each node.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), help="Write the drawing to this file.")
@click.pass_context
def command(
    ctx: click.Context, /, call_name: str, mode: str | None, members: int, stage: str | None, **values: Any
) -> None:
    """Show the graph of WORKLOAD: its nodes, their operations and bytes.

    With a machine, show its plan: every call, the reason for it, and what was refused. With a CALL of that plan, or
    where it has one call only, show that call as pseudo-code and what its units do over time. With a --stage, show what
    one stage of the compile flow made of all calls, or of CALL. With a --format, draw the graph; with a machine too,
    with a frame around what is one call.
    """
    from experiments.text.page import show_page

    asked = [(option, values.pop(option)) for option in ("machine", "gpu", "rdu")]
    named = [(option, name) for option, name in asked if name is not None]
    drawing = values.pop("cycles"), values.pop("cells")
    form, file, outline = values.pop("form"), values.pop("file"), values.pop("outline")
    if len(named) > 1:
        raise click.UsageError("one machine is shown at a time: give one of --machine, --gpu, --rdu")
    request = request_of(values)
    if form == "text" and (names := given(ctx, ("file", "outline"))):
        raise click.UsageError(f"{', '.join(names)}: of a drawing; name a --format")
    if not named:
        need_no_plan(ctx)
    side = side_of(request, *named[0], mode or "", members) if named else None
    if side is not None:
        need_of_family(ctx, side.family, side.machine)
    if form != "text":
        need_graph_only(ctx, file)
        show_drawing(form, drawing_of(request, side, members, outline), file)
    elif side is None:
        show_page(graph_page(request, members))
    elif stage is None:
        show_page(plan_page(request, side, call_name, drawing))
    else:
        need_no_drawing(ctx)
        show_page(stage_page(request, side, call_name, stage))


def need_no_plan(ctx: click.Context) -> None:
    """Raises UsageError for what only a plan has. A graph has none of it."""
    if given(ctx, ("call_name", "mode")):
        raise click.UsageError("a CALL and --policy are of a plan: name a --machine")
    if given(ctx, ("stage",)):
        raise click.UsageError("a --stage is of an RDU's compile flow: name an --rdu")
    if names := given(ctx, ("cycles", "cells", *(name for of in MAPPING_OF.values() for name in of))):
        raise click.UsageError(f"{', '.join(names)}: how a machine runs a graph; name a --machine")


def need_no_drawing(ctx: click.Context) -> None:
    """Raises UsageError for what draws a time line, where none is drawn."""
    if names := given(ctx, ("cycles", "cells")):
        raise click.UsageError(f"{', '.join(names)}: of the time line of a call, which --stage does not draw")


def need_graph_only(ctx: click.Context, file: Path | None) -> None:
    """Raises UsageError for what a drawing of a graph does not show, UserError for a file that cannot be written."""
    from experiments.output import check_writable

    if names := given(ctx, ("call_name", "stage", "cycles", "cells")):
        raise click.UsageError(f"{', '.join(names)}: a drawing is of the whole graph, with all its calls")
    if file is not None:
        check_writable(file, folder=False)


def drawing_of(request: Request, side: Side | None, members: int, outline: bool) -> Diagram:
    """The graph as a drawing, of its blocks or of its nodes; on a machine, with its calls."""
    from experiments.compare import read_graph
    from experiments.diagram import diagram_of
    from experiments.outline import outline_of
    from experiments.settings import settle
    from experiments.sides import load_machine, lower

    settings = settle(request, (side,) if side else ())
    graph = read_graph(request, members, settings)
    if side is None:
        return outline_of(graph) if outline else diagram_of(graph)
    if outline:
        raise click.UsageError("--outline is of a graph, whose calls it does not show: name no machine")
    machine = load_machine(side.family, side.machine, settings.of_machine(side.family))
    return diagram_of(graph, lower(side, graph, machine, side.modes[0]))


def show_drawing(form: str, diagram: Diagram, file: Path | None) -> None:
    """Print a drawing, or write it to a file."""
    from experiments.output import write_file

    text = load_module(DRAWINGS, form, "drawing").drawn(diagram)
    if file is None:
        click.echo(text, nl=False)
        return
    write_file(file, text.encode())
    click.echo(f"wrote {file}", err=True)


def side_of(request: Request, option: str, machine: str, mode: str, members: int) -> Side:
    """The machine, named by the option of its family or by `machine`. Raises UserErrors."""
    from experiments.sides import MODELS, side_on

    return side_on(request, [family for family in MODELS if option in (family, "machine")], machine, mode, members)


def graph_page(request: Request, members: int) -> list[Part]:
    """The graph that one of `members` machines runs."""
    from experiments.compare import read_graph
    from experiments.settings import settle
    from experiments.text.graph import graph_parts

    return graph_parts(read_graph(request, members, settle(request, ())))


def plan_page(request: Request, side: Side, call_name: str, drawing: tuple[int | None, int]) -> list[Part]:
    """The plan on a machine; or one call of it."""
    from experiments.compare import executions, read_graph
    from experiments.settings import settle
    from experiments.text.plan import call_named, call_parts, plan_parts

    settings = settle(request, (side,))
    execution = executions(read_graph(request, side.members, settings), side, settings)[0]
    name = call_named(execution, call_name)
    parts = call_parts(execution, name, *drawing) if name else []
    return parts if call_name else [*plan_parts(execution, apart_from(execution, side, settings)), *parts]


def apart_from(execution: Execution, side: Side, settings: Settings) -> Plan | None:
    """The same with a call for each node; None where that cannot be run."""
    from experiments.sides import load_machine, lower, mode_names
    from patterns.errors import UserError

    machine = load_machine(side.family, side.machine, settings.of_machine(side.family))
    try:
        return lower(side, execution.plan.graph, machine, mode_names(side.family)[0])
    except UserError:
        return None


def stage_page(request: Request, side: Side, call_name: str, stage: str) -> list[Part]:
    """What a stage of the compile flow made of a graph, or of one call."""
    from experiments.compare import read_graph
    from experiments.settings import settle
    from experiments.stage import shown_stage
    from experiments.text.stage import stage_parts

    settings = settle(request, (side,))
    return stage_parts(shown_stage(read_graph(request, side.members, settings), side, settings, stage, call_name))

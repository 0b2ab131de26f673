"""patternloom show: a graph, a plan of it, or one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from experiments.options import mapping_options, number, request_of, workload_options

if TYPE_CHECKING:
    from experiments.request import Request
    from experiments.text.page import Part


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
def command(call_name: str, cycles: int | None, cells: int, mode: str | None, members: int, **values: Any) -> None:
    """Show the graph of WORKLOAD: its nodes, their operations and bytes.

    With a machine, show its plan: every call, the reason for it, and what was refused. With a CALL of that plan, or
    where it has one call only, show that call as pseudo-code and what its units do over time.
    """
    from experiments.text.page import show_page

    asked = [(option, values.pop(option)) for option in ("machine", "gpu", "rdu")]
    named = [(option, name) for option, name in asked if name is not None]
    if len(named) > 1:
        raise click.UsageError("one machine is shown at a time: give one of --machine, --gpu, --rdu")
    if not named and (call_name or mode):
        raise click.UsageError("a CALL and --policy are of a plan: name a --machine")
    request = request_of(values)
    if named:
        show_page(plan_page(request, *named[0], mode or "", members, call_name, (cycles, cells)))
    else:
        show_page(graph_page(request, members))


def graph_page(request: Request, members: int) -> list[Part]:
    """The graph that one of `members` machines runs."""
    from experiments.compare import read_graph
    from experiments.settings import settle
    from experiments.text.graph import graph_parts

    return graph_parts(read_graph(request, members, settle(request, ())))


def plan_page(
    request: Request,
    option: str,
    machine: str,
    mode: str,
    members: int,
    call_name: str,
    drawing: tuple[int | None, int],
) -> list[Part]:
    """The plan on a machine, named by the option of its family or by `machine`; or one call of it."""
    from experiments.compare import executions, read_graph
    from experiments.settings import settle
    from experiments.sides import MODELS, side_on
    from experiments.text.plan import call_named, call_parts, plan_parts

    side = side_on(request, [family for family in MODELS if option in (family, "machine")], machine, mode, members)
    settings = settle(request, (side,))
    execution = executions(read_graph(request, members, settings), side, settings)[0]
    name = call_named(execution, call_name)
    parts = call_parts(execution, name, *drawing) if name else []
    return parts if call_name else [*plan_parts(execution), *parts]

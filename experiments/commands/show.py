"""patternloom show: a graph, a plan of it, or one call."""

from __future__ import annotations

from typing import Any

import click

from experiments.options import mapping_options, number, request_of, workload_options


@click.command
@workload_options
@click.option("--machine", "--gpu", "--rdu", "machine", help="Show the plan on this machine.")
@click.option(
    "--policy", "--mode", "mode", help="Fusion policy of a GPU or mode of an RDU.  [default: the model's own]"
)
@number("--members", 1, default=1, show_default=True, help="How many machines, tensor parallel.")
@mapping_options
@click.option("--call", "call_name", default="", help="Show this call: its listing and its time line.")
@number(
    "--cycles",
    0,
    default=12_000,
    show_default=True,
    help="Draw this many cycles of the call, 0 for all.",
)
@number("--cells", 1, default=72, show_default=True, help="Characters of the time line.")
def command(
    machine: str | None, mode: str | None, members: int, call_name: str, cycles: int, cells: int, **values: Any
) -> None:
    """Show the graph of WORKLOAD: its nodes, their operations and bytes.

    With --machine, show its plan: every call, the reason for it, and what was refused. With --call, or where the plan
    has one call only, show that call as pseudo-code and what its units do over time.
    """
    if machine is None:
        if call_name or mode:
            raise click.UsageError("--call and --policy are of a plan: name a --machine")
        from experiments.compare import read_graph
        from experiments.settings import settle
        from experiments.text.graph import graph_parts
        from experiments.text.page import show_page

        request = request_of(values)
        show_page(graph_parts(read_graph(request, members, settle(request, ()))))
    else:
        show_plan(machine, mode, members, call_name, (cycles, cells), values)


def show_plan(
    machine: str, mode: str | None, members: int, call_name: str, drawing: tuple[int, int], values: dict[str, Any]
) -> None:
    """The plan on a machine, or one call of it."""
    from experiments.compare import executions
    from experiments.settings import settle
    from experiments.sides import side_on
    from experiments.text.page import show_page
    from experiments.text.plan import call_named, call_parts, plan_parts

    request = request_of(values)
    side = side_on(request, machine, mode or "", members)
    execution = executions(request, side, settle(request, (side,)))[0]
    name = call_named(execution, call_name)
    parts = call_parts(execution, name, *drawing) if name else []
    show_page(parts if call_name else [*plan_parts(execution), *parts])

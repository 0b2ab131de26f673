"""patternloom plot: pictures of a comparison, of a section of an RDU, and of a table of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from experiments.options import (
    given,
    machine_options,
    mapping_options,
    need_of_family,
    read_settings,
    request_of,
    size_options,
    stacked,
)

FLOORPLAN = "floorplan"
ALL = "all"
COLUMNS = ("x", "y", "value", "by", "panel", "bound", "marks", "log", "turns_at", "bars_stacked", "title", "where")

column_options = stacked(
    click.option(
        "--data",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Draw columns of this .csv, .json or store of a sweep, in place of a WORKLOAD.",
    ),
    click.option("--x", metavar="COLUMN", default="", help="With --data: along the axis; of bars, their names."),
    click.option("--y", metavar="COLUMN", multiple=True, help="With --data: upwards; of bars, how long (or several)."),
    click.option("--value", metavar="COLUMN", default="", help="With --data: what a heat map has in its cells."),
    click.option("--by", metavar="COLUMN", default="", help="With --data: a line or a colour for each of its values."),
    click.option("--panel", metavar="COLUMN", default="", help="With --data: a panel for each of its values."),
    click.option("--bound", metavar="COLUMN", default="", help="With --data: a bound, drawn beside."),
    click.option("--marks", metavar="COLUMN", default="", help="With --data: values known from elsewhere, as crosses."),
    click.option(
        "--log", multiple=True, type=click.Choice(["x", "y", "value"]), help="With --data: what is logarithmic."
    ),
    click.option("--stacked", "bars_stacked", is_flag=True, help="With --data: bars of several --y on each other."),
    click.option("--turns-at", type=float, metavar="NUMBER", help="With --data: where a heat map's ratio turns."),
    click.option("--title", default="", help="With --data: above the picture."),
    click.option(
        "--where",
        metavar="COLUMN=VALUE",
        callback=read_settings,
        multiple=True,
        help="With --data: only rows that have this value.",
    ),
)


@click.command
@click.argument("workload", required=False)
@size_options
@machine_options
@mapping_options
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="What is drawn; may be given again; `patternloom list plots` tells of each.  [default: fusion and overlap]",
)
@click.option("--section", metavar="CALL", help="Whose floorplan.  [default: of the call in which most time goes]")
@column_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("plots"), show_default=True, help="Folder."
)
@click.pass_context
def command(ctx: click.Context, /, kinds: tuple[str, ...], section: str | None, output: Path, **values: Any) -> None:
    """Draw the comparison of WORKLOAD as PNG, SVG and PDF, for two columns of a paper and for one; data beside it.

    `--kind all` draws every kind that a comparison has. A floorplan is of one section, placed and routed: which unit
    works for which stage, and the load of the mesh. With --data FILE, --kind lines, bars, heat_map or scaling draws
    columns of a table: `patternloom plot --data sweep.csv --kind lines --x batch --y time_us --by mode`.
    """
    from experiments.output import check_writable, write_folder

    check_writable(output, folder=True)
    if values["data"] is not None:
        files = columns_drawn(ctx, kinds, values)
    else:
        need_meaning(ctx, kinds, section, values)
        files = pictures(kinds, section or "", values)
    for path in write_folder(output, files):
        click.echo(str(path))


def need_meaning(ctx: click.Context, kinds: tuple[str, ...], section: str | None, values: dict[str, Any]) -> None:
    """Raises click.UsageError for options that say nothing to what is drawn, UnknownName for a kind that is not."""
    from experiments.picture import check_kinds

    if not values["workload"]:
        raise click.UsageError("a WORKLOAD is needed (`patternloom list graphs` tells of each), or --data FILE")
    check_kinds([kind for kind in kinds if kind != ALL])
    if names := given(ctx, COLUMNS):
        raise click.UsageError(f"{', '.join(names)}: of columns of a table: give --data FILE in place of a workload")
    if FLOORPLAN not in kinds:
        if section is not None:
            raise click.UsageError("--section is of a floorplan: give --kind floorplan, too")
        return
    if len(values["modes"]) > 1:
        raise click.UsageError("a floorplan is of one mode: give one --mode")
    if set(kinds) == {FLOORPLAN}:
        need_of_family(ctx, "rdu", values["rdu"])
        if names := given(ctx, ("gpu", "gpus", "policies")):
            raise click.UsageError(f"{', '.join(names)}: a floorplan is of an RDU")


def pictures(kinds: tuple[str, ...], section: str, values: dict[str, Any]) -> dict[str, bytes]:
    """File name -> content of all that is asked for. Raises UserErrors."""
    from experiments.picture import drawn, drawn_floorplan, plot_kinds

    request = request_of(values)
    found: dict[str, bytes] = {}
    if FLOORPLAN in kinds:
        from experiments.floorplan import asked_floorplan

        found |= drawn_floorplan(asked_floorplan(request, section))
    of_comparison = tuple(kind for kind in kinds if kind != FLOORPLAN)
    if of_comparison or not kinds:
        from experiments.compare import compare

        found |= drawn(compare(request), plot_kinds() if ALL in kinds else of_comparison)
    return found


def columns_drawn(ctx: click.Context, kinds: tuple[str, ...], values: dict[str, Any]) -> dict[str, bytes]:
    """File name -> content of charts of a table's columns. Raises UserErrors, click.UsageError."""
    from experiments.charting.asked import Asked
    from experiments.charting.data_file import read_records
    from experiments.picture import drawn_records, plot_kinds
    from patterns.plugin import load_module

    own = {*COLUMNS, "data", "kinds", "output", "workload"}
    names = given(ctx, [param.name for param in ctx.command.params if param.name and param.name not in own])
    if values["workload"] or names:
        said = ", ".join([*(["a workload"] if values["workload"] else []), *names])
        raise click.UsageError(f"{said}: says nothing to --data, which is drawn as it is")
    known = plot_kinds("data")
    if len(kinds) != 1 or kinds[0] not in known:
        raise click.UsageError(f"--data is drawn as one --kind: {', '.join(known)}")
    columns = {name: values[name] for name in COLUMNS if name not in ("bars_stacked", "where")}
    asked = Asked(kinds[0], kinds[0], stacked=values["bars_stacked"], **columns)
    chart = load_module("experiments.plot", kinds[0], "plot").chart(asked)
    return drawn_records(read_records(values["data"], values["where"]), (chart,))

"""patternloom plot: the pictures of a comparison, and the floorplan of a section of an RDU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from experiments.options import (
    given,
    machine_options,
    mapping_options,
    need_of_family,
    request_of,
    workload_options,
)

FLOORPLAN = "floorplan"


@click.command
@workload_options
@machine_options
@mapping_options
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="fusion or overlap, of the comparison, or floorplan, of the RDU; may be given again.  [default: fusion and"
    " overlap]",
)
@click.option("--section", metavar="CALL", help="Whose floorplan.  [default: of the call in which most time goes]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("plots"), show_default=True, help="Folder."
)
@click.pass_context
def command(ctx: click.Context, /, kinds: tuple[str, ...], section: str | None, output: Path, **values: Any) -> None:
    """Draw the comparison of WORKLOAD as PNG and SVG, with the data as CSV beside each picture.

    A floorplan is of one section, placed and routed: which unit works for which stage, and the load of the mesh.
    """
    from experiments.output import check_writable, write_folder
    from experiments.picture import check_kinds

    check_kinds(kinds)
    need_meaning(ctx, kinds, section, values)
    check_writable(output, folder=True)
    for path in write_folder(output, pictures(kinds, section or "", values)):
        click.echo(str(path))


def need_meaning(ctx: click.Context, kinds: tuple[str, ...], section: str | None, values: dict[str, Any]) -> None:
    """Raises click.UsageError for options that say nothing to what is drawn."""
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
    from experiments.picture import drawn, drawn_floorplan

    request = request_of(values)
    found: dict[str, bytes] = {}
    if FLOORPLAN in kinds:
        from experiments.floorplan import asked_floorplan

        found |= drawn_floorplan(asked_floorplan(request, section))
    of_comparison = tuple(kind for kind in kinds if kind != FLOORPLAN)
    if of_comparison or not kinds:
        from experiments.compare import compare

        found |= drawn(compare(request), of_comparison)
    return found

"""patternloom plot: the pictures of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from experiments.options import machine_options, mapping_options, request_of, workload_options


@click.command
@workload_options
@machine_options
@mapping_options
@click.option("--kind", "kinds", multiple=True, help="fusion or overlap; may be given again.  [default: all]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("plots"), show_default=True, help="Folder."
)
def command(kinds: tuple[str, ...], output: Path, **values: Any) -> None:
    """Draw the comparison of WORKLOAD as PNG and SVG, with the data as CSV beside each picture."""
    from experiments.output import check_writable, write_folder
    from experiments.picture import check_kinds, drawn

    check_kinds(kinds)
    check_writable(output, folder=True)
    from experiments.compare import compare

    for path in write_folder(output, drawn(compare(request_of(values)), kinds)):
        click.echo(str(path))

"""patternloom report: a comparison as one page of HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from experiments.options import machine_options, mapping_options, request_of, workload_options


@click.command
@workload_options
@machine_options
@mapping_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="File.",
)
def command(output: Path, **values: Any) -> None:
    """Compare WORKLOAD as `patternloom compare` does, and write one page that holds everything.

    Tables, both time lines on one axis, the graph with what is one call, bounds, error bands and where each number is
    from. The page needs no network, and the same question gives the same bytes.
    """
    from experiments.compare import compare
    from experiments.output import check_writable, write_file
    from experiments.page.report import report_page

    check_writable(output, folder=False)
    page = report_page(compare(request_of(values)))
    write_file(output, page.encode())
    click.echo(str(output))

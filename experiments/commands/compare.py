"""patternloom compare: one workload on a GPU and on an RDU, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from experiments.options import machine_options, mapping_options, request_of, workload_options

OUTPUT = click.Path(path_type=Path)


@click.command
@workload_options
@machine_options
@mapping_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of tables.")
@click.option("--plot", "plot_folder", type=OUTPUT, help="Also draw both plots into this folder.")
@click.option("--trace", "trace_file", type=OUTPUT, help="Also write a trace for ui.perfetto.dev to this file.")
def command(as_json: bool, as_csv: bool, plot_folder: Path | None, trace_file: Path | None, **values: Any) -> None:
    """Compare WORKLOAD on a GPU and on an RDU: calls, time, bytes, overlap, bound.

    WORKLOAD is a graph of the library (see `patternloom list graphs`), a YAML file, or an imported one: a
    model's config.json or .onnx. One GPU is compared with one RDU socket unless told otherwise.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv both ask for stdout: choose one")
    from experiments.compare import compare
    from experiments.output import check_writable, write_file, write_folder

    if plot_folder is not None:
        check_writable(plot_folder, folder=True)
    if trace_file is not None:
        check_writable(trace_file, folder=False)
    comparison = compare(request_of(values))
    if plot_folder is not None:
        from experiments.picture import drawn

        say_written(write_folder(plot_folder, drawn(comparison)))
    if trace_file is not None:
        from experiments.trace import trace_json

        write_file(trace_file, trace_json(comparison.outcomes).encode())
        say_written((trace_file,))
    print_comparison(comparison, as_json, as_csv)


def print_comparison(comparison: Any, as_json: bool, as_csv: bool) -> None:
    """The result on stdout in the form that was asked for."""
    from experiments.export import reports_csv, reports_json
    from experiments.text.comparison import comparison_parts, warnings_of
    from experiments.text.page import show_page

    if as_json:
        click.echo(reports_json(comparison.outcomes), nl=False)
    elif as_csv:
        click.echo(reports_csv(comparison.outcomes), nl=False)
    else:
        show_page(comparison_parts(comparison))
        return
    for warning in warnings_of(comparison):
        click.echo(warning, err=True)


def say_written(paths: tuple[Path, ...]) -> None:
    """Which files were written, on stderr."""
    click.echo("wrote " + ", ".join(map(str, paths)), err=True)

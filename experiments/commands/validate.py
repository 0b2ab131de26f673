"""patternloom validate: both models beside measurements, family by family."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.options import number, read_settings

if TYPE_CHECKING:
    from experiments.validate import Question, Validation

ROWS = 150
ROWS_A_REFRESH = 20
FOLDER = click.Path(path_type=Path)


@click.command
@click.argument("families", nargs=-1, metavar="[FAMILY ...]")
@click.option("--gpu", "gpus", multiple=True, help="Only rows of this GPU; may be given again.  [default: all]")
@click.option("--rdu", "rdus", multiple=True, help="Only rows of this RDU; may be given again.  [default: all]")
@number("--rows", 1, default=ROWS, show_default=True, help="Rows of each family and machine; always the same ones.")
@click.option("--all", "every", is_flag=True, help="All rows, however many there are.")
@click.option(
    "--aiconfigurator",
    "folder",
    type=FOLDER,
    metavar="DIR",
    help="Folder with measured tables, Parquet or CSV.  [default: the installed aiconfigurator-core]",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    callback=read_settings,
    multiple=True,
    help="Replace a parameter of a machine (gpu.X=, rdu.X=).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--plot", "plot_folder", type=FOLDER, help="Also draw predicted against measured into this folder.")
@click.option(
    "--write-bands", "bands_file", type=FOLDER, metavar="FILE", help="Also write the error bands that `compare` prints."
)
@click.option(
    "--write-errors",
    "errors_file",
    type=FOLDER,
    metavar="FILE",
    help="Also write the errors that the documentation shows; beside a folder of tables, of the database, too.",
)
@number("--jobs", 1, help="Processes.  [default: one a processor]")
def command(
    rows: int,
    every: bool,
    jobs: int | None,
    as_json: bool,
    plot_folder: Path | None,
    bands_file: Path | None,
    errors_file: Path | None,
    **values: Any,
) -> None:
    """Compare both models with measurements: errors of each FAMILY (see `patternloom list families`), all if none.

    Published figures are part of the project. NVIDIA's aiconfigurator database comes with
    `pip install 'patternloom[validation]'`; a folder of your own tables may stand in its place, each a CSV or Parquet
    file whose name begins with what it is of and that has these columns:

    \b
    gemm       gpu, library, gemm_dtype, m, n, k, latency_us
    attention  gpu, library, phase (context or generation), batch_size, isl, step,
               num_heads, num_key_value_heads, head_dim, kernel_source, latency_us
    allreduce  gpu, library, num_gpus, elements_bf16, latency_us
    """
    from experiments.output import check_writable
    from experiments.validate import Question

    if plot_folder is not None:
        check_writable(plot_folder, folder=True)
    for file in (bands_file, errors_file):
        if file is not None:
            check_writable(file, folder=False)
    question = Question(rows=None if every else rows, jobs=jobs or 0, **values)
    if errors_file is not None:
        check_database(question)
    result = run(question)
    if plot_folder is not None:
        draw(result, plot_folder)
    for file, write in ((bands_file, write_bands), (errors_file, write_errors)):
        if file is not None:
            write(result, question, file)
    show(result, as_json)


def show(result: Validation, as_json: bool) -> None:
    """The result on stdout; notes beside JSON go to stderr."""
    from experiments.text.page import show_page
    from experiments.text.validation import notes, validation_parts
    from experiments.validation.export import validation_json

    if not as_json:
        show_page(validation_parts(result))
        return
    click.echo(validation_json(result), nl=False)
    for note in notes(result):
        click.echo(note, err=True)


def run(question: Question) -> Validation:
    """The validation, with a bar on stderr where that is a terminal."""
    from experiments.validate import validate

    if not sys.stderr or not sys.stderr.isatty():
        return validate(question)
    from rich.console import Console
    from rich.progress import Progress

    # Without a thread that refreshes it: worker processes are forked while it is shown.
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("predicting", total=None)

        def show_progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, refresh=done % ROWS_A_REFRESH == 0)

        return validate(question, show_progress)


def draw(result: Validation, folder: Path) -> None:
    """Predicted against measured as PNG, SVG and CSV in a folder."""
    from experiments.commands.compare import say_written
    from experiments.output import write_folder
    from experiments.picture import drawn_validation

    say_written(write_folder(folder, drawn_validation(result)))


def write_bands(result: Validation, question: Question, file: Path) -> None:
    """The error bands of what was validated, as a file."""
    from experiments.commands.compare import say_written
    from experiments.output import write_file
    from experiments.validation.bands import bands_text

    write_file(file, bands_text(result).encode())
    say_written((file,))


def check_database(question: Question) -> None:
    """Raises UserError where errors are asked for beside a folder's, and there is no database."""
    from experiments.validation.tables import EXTRA, find_tables
    from patterns.errors import UserError

    if question.folder is not None and not find_tables(None).where:
        raise UserError(f"--write-errors has a folder's errors beside those of the database, which {EXTRA} brings")


def write_errors(result: Validation, question: Question, file: Path) -> None:
    """The errors of what was validated as a file; where that was a folder, the database is validated beside it."""
    from dataclasses import replace

    from experiments.commands.compare import say_written
    from experiments.output import write_file
    from experiments.validation.errors import DATABASE_ROWS, errors_text, found_errors

    if question.folder is None:
        found = found_errors(None, result, question.rows)
    else:
        found = found_errors(result, run(replace(question, folder=None, rows=DATABASE_ROWS)), DATABASE_ROWS)
    write_file(file, errors_text(found).encode())
    say_written((file,))

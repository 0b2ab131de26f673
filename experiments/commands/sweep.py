"""patternloom sweep: every point of a sweep file, into a table or a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from experiments.options import at_least, read_settings

if TYPE_CHECKING:
    from experiments.sweep.read import Sweep
    from experiments.sweep.run import Summary

FAILED = 3
SHOWN_POINTS = 5
FORMATS = ("table", "csv", "json", "parquet", "none")


@click.command
@click.argument("file")
@click.option("-o", "--output", "store", type=click.Path(path_type=Path), help="Keep the rows in this store.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="On stdout.")
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    callback=read_settings,
    multiple=True,
    help="One value of a field for all points, in the place of what the file says of it.",
)
@click.option("--dry-run", is_flag=True, help="Say how many points there are and show the first; run nothing.")
@click.option(
    "-j",
    "--jobs",
    type=int,
    metavar="N",
    callback=at_least(1),
    help="Worker processes.  [default: the cores, where there is enough to do]",
)
@click.option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler (tcp://HOST:PORT).")
@click.option("--retry-failed", "retry", is_flag=True, help="Run again what is in the store and is not ok.")
@click.option("--allow-failed", "allow", is_flag=True, help="Exit with 0 though some points are not ok.")
def command(
    file: str,
    store: Path | None,
    form: str,
    settings: tuple[tuple[str, str], ...],
    dry_run: bool,
    jobs: int | None,
    scheduler: str | None,
    retry: bool,
    allow: bool,
) -> int:
    """Run every point of FILE: fields in a grid, zipped or listed, over workloads, machines and options.

    FILE is a sweep file (`patternloom init NAME --kind sweep` writes one to start from) or an example's name (see
    `patternloom list sweeps`). With -o, rows are kept in a store, an SQLite file: what it has is not run again. Exit
    status 3: some points are infeasible or failed; their rows say why.
    """
    if jobs is not None and scheduler is not None:
        raise click.UsageError("--jobs is for this machine and --scheduler for a cluster: choose one")
    from experiments.sweep.examples import sweep_file
    from experiments.sweep.progress import progress
    from experiments.sweep.read import read_sweep
    from experiments.sweep.results import need_place, print_results
    from experiments.sweep.run import run_sweep, summary_text
    from experiments.sweep.store import opened
    from experiments.sweep.workers import Workers

    sweep = read_sweep(sweep_file(file), settings)
    if dry_run:
        tell_points(sweep)
        return 0
    need_place(form)
    with opened(None if store is None else str(store)) as kept:
        with told_if_stopped(store):
            summary = run_sweep(sweep, kept, Workers(jobs, scheduler), progress, retry=retry)
        print_results(kept, sweep.name, form)
    click.echo(summary_text(summary), err=True)
    return status_of(summary, allow)


@contextmanager
def told_if_stopped(store: Path | None) -> Iterator[None]:
    """On Ctrl-C or a signal that ends this process, what becomes of the rows so far."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        told = f"the rows so far are in {store}: run it again to go on" if store else "no store (-o) keeps the rows"
        click.echo(f"stopped; {told}", err=True)
        raise


def tell_points(sweep: Sweep) -> None:
    """How many points there are, and the first of them."""
    from experiments.sweep.expansion import parameters_text, passing, points_that_pass
    from patterns.plural import number_of

    points = points_that_pass(sweep)
    fixed = {name for name, _ in sweep.fixed}
    click.echo(f"{sweep.name}: {number_of(points, 'point')}" + (f"; {sweep.about}" if sweep.about else ""))
    for name, value in sweep.fixed:
        click.echo(f"  all: {name} {value}")
    for parameters in islice(passing(sweep), SHOWN_POINTS):
        click.echo(f"  {parameters_text(tuple(pair for pair in parameters if pair[0] not in fixed))}")
    if points > SHOWN_POINTS:
        click.echo(f"  ... and {points - SHOWN_POINTS:,} more")


def status_of(summary: Summary, allow: bool) -> int:
    """0, or 3 where points are not ok: if some are not and that is not allowed, and if all are not."""
    all_failed = summary.points > 0 and summary.failed == summary.points
    return FAILED if all_failed or (summary.failed and not allow) else 0

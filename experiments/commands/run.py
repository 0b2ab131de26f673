"""patternloom run: a study, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patterns.errors import UserError

if TYPE_CHECKING:
    from experiments.study_queue import Ended

FAILED = 3


@click.command
@click.argument("study")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder."
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1), help="Of all: studies at a time.  [default: as many as there are cores]"
)
@click.option("--again", is_flag=True, help="Of all: run also what was made before and is still the same.")
def command(study: str, output: Path, jobs: int | None, again: bool) -> int:
    """Run STUDY (see `patternloom list studies`), or all: tables, figures and a page in a folder of its name.

    Of all studies index.html is the list, with what each found. Those whose folder is whole and was made by the same
    studies and models are skipped, so that what was interrupted goes on. One that fails does not stop the others.

    \b
    Exit status:
    status 0: every study was run, or was there before
    status 2: a folder that cannot be written, and nothing was run; or a full disk, and the rest was not
    status 3: some studies failed; their names are told last
    """
    from experiments.processors import processors
    from experiments.study import study_named, study_names
    from experiments.study_folder import check_folder

    names = study_names() if study == "all" else (study,)
    for name in names:
        study_named(name)
        check_folder(output / name)
    if study == "all":
        return run_all(names, output, jobs or processors(), again)
    run_one(study, output)
    return 0


def run_one(name: str, output: Path) -> None:
    """Run one study and tell what it found and wrote. Raises UserErrors."""
    from experiments.study import run_study
    from experiments.study_folder import write_study

    with told_if_stopped(lambda: f"{output / name} is as far as it was written: run it again to make it whole"):
        click.echo(f"running {name} ...", err=True)
        result = run_study(name, lambda row: click.echo(f"  {row}", err=True))
        written = write_study(output / name, name, result)
    click.echo(f"{name}: {result.finding}")
    click.echo("wrote " + ", ".join(map(str, written)), err=True)


def run_all(names: Sequence[str], output: Path, jobs: int, again: bool) -> int:
    """Run all studies that are not there yet, tell what each found in the order of names, and list them on a page."""
    from experiments.output import check_writable, write_folder
    from experiments.page.index import FILE
    from experiments.study_folder import made_before
    from experiments.study_queue import Ended

    if output.exists():
        check_writable(output / FILE, folder=False)
    write_folder(output, {})  # before anything is run: some systems have places where nothing can be made
    before = {} if again else {name: made_before(output / name, name) for name in names}
    ended = {name: Ended(name, finding) for name, finding in before.items() if finding is not None}
    with told_if_stopped(lambda: kept_text(names, ended, output)):
        run_due(names, ended, output, jobs)
    failed = [name for name in names if ended[name].failure]
    if failed:
        click.echo(f"{len(failed)} of {len(names)} studies failed: {', '.join(failed)}", err=True)
    return FAILED if failed else 0


@contextmanager
def told_if_stopped(kept: Callable[[], str]) -> Iterator[None]:
    """On Ctrl-C, what becomes of what was made so far."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"stopped; {kept()}", err=True)
        raise


def kept_text(names: Sequence[str], ended: Mapping[str, Ended], output: Path) -> str:
    """How many studies are there whole, and how to go on."""
    whole = sum(1 for one in ended.values() if one.finding)
    return f"{whole} of {len(names)} studies are kept in {output}: run it again to make the others"


def run_due(names: Sequence[str], ended: dict[str, Ended], output: Path, jobs: int) -> None:
    """Run the studies that have not ended; each is told and listed as soon as it has. Raises UserError."""
    from experiments.study_queue import run_studies

    for name in ended:
        click.echo(f"{name} was made before: skipped (--again runs it)", err=True)
    told = tell_in_order(names, ended, 0)
    write_index(names, ended, output)
    due = [name for name in names if name not in ended]
    for one in run_studies(due, output, jobs, lambda text: click.echo(text, err=True)):
        if one.full:
            raise UserError(f"{one.failure}; the studies so far are kept: make room and run it again to go on")
        ended[one.name] = one
        if one.failure:
            click.echo(f"{one.name} failed: {one.failure}", err=True)
        told = tell_in_order(names, ended, told)
        write_index(names, ended, output)  # after each, so that it tells of what is there


def tell_in_order(names: Sequence[str], ended: Mapping[str, Ended], told: int) -> int:
    """Print what studies found up to the first that has not ended; how many have been told of."""
    while told < len(names) and names[told] in ended:
        one = ended[names[told]]
        if one.finding:
            click.echo(f"{one.name}: {one.finding}")
        told += 1
    return told


def write_index(names: Sequence[str], ended: Mapping[str, Ended], output: Path) -> None:
    """List the studies that are there. Raises UserError."""
    from experiments.output import write_file
    from experiments.page.index import FILE, Listed, index_page
    from experiments.study import study_named

    there = [ended[name] for name in names if name in ended and ended[name].finding]
    if there:
        listed = [Listed(one.name, study_named(one.name).question, one.finding) for one in there]
        write_file(output / FILE, index_page(listed))

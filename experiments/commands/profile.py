"""patternloom profile: what recordings of a real run show, and the model beside one."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from experiments.options import (
    given,
    machine_options,
    mapping_options,
    number,
    request_of,
    size_options,
)
from experiments.request import Request
from patterns.errors import UserError

if TYPE_CHECKING:
    from experiments.profile.against import Against
    from experiments.profile.answer import Answer
    from experiments.profile.profiled import Profile

# Of the options those that say something to the model only.
OF_THE_MODEL = (*(field.name for field in fields(Request)), "stages", "fixed")
PAGES = (".html", ".htm")


@click.command
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--step", default="", metavar="REGEX", help="Names of the ranges that are steps.  [default: the likeliest]"
)
@click.option(
    "--against", "workload", metavar="WORKLOAD", help="Set it beside the model: a step beside one run of this."
)
@size_options
@machine_options
@mapping_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--csv", "as_csv", is_flag=True, help="Print classes and kernels as CSV instead of tables.")
@click.option("--plot", "folder", type=click.Path(path_type=Path), help="Also draw pictures into this folder.")
@click.option(
    "-o", "--output", "page", metavar="PAGE.html", type=click.Path(path_type=Path), help="Also write a page of HTML."
)
@number("--top", 0, default=10, show_default=True, help="Show so many kernels by name.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[Path, ...],
    step: str,
    as_json: bool,
    as_csv: bool,
    folder: Path | None,
    page: Path | None,
    top: int,
    **values: Any,
) -> None:
    """Tell what FILE, a recording of a real run, shows: kernels a step, their classes, busy, idle, gaps, launches.

    FILE is what torch.profiler exports (.json, .json.gz) or what `nsys export --type sqlite` writes. With --against,
    the model's GPU policies and the RDU stand beside it; what is not asked for is as in the recording. Several files
    are of the ranks of one run: they are read one after the other and told side by side.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv both ask for stdout: choose one")
    if not values["workload"] and (names := given(ctx, OF_THE_MODEL)):
        raise click.UsageError(f"{', '.join(names)}: of the model, which --against WORKLOAD asks for")
    if values["workload"] and files[1:]:
        raise click.UsageError(f"--against sets one recording beside the model, here are {len(files)}: choose one")
    from experiments.profile.answer import of_one, of_ranks
    from experiments.profile.profiled import profile
    from experiments.profile.read import read_recording
    from experiments.profile.steps import compiled

    compiled(step)
    check_places(files, folder, page)
    if files[1:]:
        from experiments.profile.ranks import read_ranks

        answer = of_ranks(read_ranks(files, step, top, lambda text: click.echo(text, err=True)), top, step)
    else:
        found = profile(read_recording(files[0]), step)
        answer = of_one(found, model_beside(ctx, found, values) if values["workload"] else None, top, step)
    write_files(answer, folder, page)
    print_answer(answer, "json" if as_json else "csv" if as_csv else "table")


def check_places(files: tuple[Path, ...], folder: Path | None, page: Path | None) -> None:
    """Refuse places that cannot be written before anything is read. Raises UserError.

    A page's name must be one of a page: `-o *.json` would put it in the place of a recording.
    """
    from experiments.output import check_writable

    if folder is not None:
        check_writable(folder, folder=True)
    if page is None:
        return
    if page.suffix.lower() not in PAGES:
        name = page / f"profile{PAGES[0]}" if page.is_dir() else page.with_name(f"{page.name}{PAGES[0]}")
        raise UserError(f"cannot write {page}: a page's name ends in {PAGES[0]}, as in {name}")
    if page.exists() and any(file.exists() and page.samefile(file) for file in files):
        raise UserError(f"cannot write {page}: it is read from")
    check_writable(page, folder=False)


def model_beside(ctx: click.Context, found: Profile, values: dict[str, Any]) -> Against:
    """The model's answer; what the command line does not fix follows the recording."""
    from experiments.profile.against import against

    fixed = [name for name in values if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return against(found, request_of(values), fixed)


def write_files(answer: Answer, folder: Path | None, page: Path | None) -> None:
    """Pictures and page where they were asked for; what was written is told on stderr. Raises UserError."""
    if folder is None and page is None:
        return
    from experiments.output import write_file, write_folder
    from experiments.profile.pictures import inside_pages, pictures_of

    charts = answer.charts()
    files = pictures_of(charts) if folder is not None else {}
    if folder is not None:
        click.echo("wrote " + ", ".join(map(str, write_folder(folder, files))), err=True)
    if page is not None:
        write_file(page, answer.page(inside_pages(charts, files)))
        click.echo(f"wrote {page}", err=True)


def print_answer(answer: Answer, form: str) -> None:
    """The result on stdout in the form that was asked for."""
    if form == "json":
        import json

        click.echo(json.dumps(answer.record(), indent=2, allow_nan=False))
    elif form == "csv":
        from experiments.export import records_csv

        click.echo(records_csv(answer.rows()), nl=False)
    else:
        from experiments.text.page import show_page

        show_page(list(answer.parts()))

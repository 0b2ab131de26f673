"""patternloom profile: what a recording of a real run shows, and the model beside it."""

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

if TYPE_CHECKING:
    from experiments.profile.against import Against
    from experiments.profile.profiled import Profile

# Of the options those that say something to the model only.
OF_THE_MODEL = (*(field.name for field in fields(Request)), "stages", "fixed")


@click.command
@click.argument("file", type=click.Path(path_type=Path))
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
@number("--top", 0, default=10, show_default=True, help="Show so many kernels by name.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: Path,
    step: str,
    as_json: bool,
    as_csv: bool,
    folder: Path | None,
    top: int,
    **values: Any,
) -> None:
    """Tell what FILE, a recording of a real run, shows: kernels a step, their classes, busy, idle, gaps, launches.

    FILE is what torch.profiler exports (.json, .json.gz) or what `nsys export --type sqlite` writes. With --against,
    the model's GPU policies and the RDU stand beside it; what is not asked for is as in the recording.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv both ask for stdout: choose one")
    if not values["workload"] and (names := given(ctx, OF_THE_MODEL)):
        raise click.UsageError(f"{', '.join(names)}: of the model, which --against WORKLOAD asks for")
    from experiments.output import check_writable
    from experiments.profile.profiled import profile
    from experiments.profile.read import read_recording
    from experiments.profile.steps import compiled

    compiled(step)
    if folder is not None:
        check_writable(folder, folder=True)
    found = profile(read_recording(file), step)
    beside = model_beside(ctx, found, values) if values["workload"] else None
    if folder is not None:
        from experiments.output import write_folder
        from experiments.profile.pictures import pictures

        click.echo("wrote " + ", ".join(map(str, write_folder(folder, pictures(found, beside)))), err=True)
    print_profile(found, beside, top, as_json, as_csv)


def model_beside(ctx: click.Context, found: Profile, values: dict[str, Any]) -> Against:
    """The model's answer; what the command line does not fix follows the recording."""
    from experiments.profile.against import against

    fixed = [name for name in values if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return against(found, request_of(values), fixed)


def print_profile(found: Profile, beside: Against | None, top: int, as_json: bool, as_csv: bool) -> None:
    """The result on stdout in the form that was asked for."""
    from experiments.profile.show_against import whole_parts, whole_record

    if as_json:
        import json

        click.echo(json.dumps(whole_record(found, beside), indent=2, allow_nan=False))
    elif as_csv:
        from experiments.export import records_csv
        from experiments.profile.record import profile_rows

        click.echo(records_csv(profile_rows(found)), nl=False)
    else:
        from experiments.text.page import show_page

        show_page(list(whole_parts(found, beside, top)))

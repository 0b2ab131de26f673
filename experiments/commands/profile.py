"""patternloom profile: what a recording of a real run shows, and the model beside it."""

from __future__ import annotations

from pathlib import Path

import click

from experiments.options import number


@click.command
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--step", default="", metavar="REGEX", help="Names of the ranges that are steps.  [default: the likeliest]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--csv", "as_csv", is_flag=True, help="Print classes and kernels as CSV instead of tables.")
@number("--top", 0, default=10, show_default=True, help="Show so many kernels by name.")
def command(file: Path, step: str, as_json: bool, as_csv: bool, top: int) -> None:
    """Tell what FILE, a recording of a real run, shows: kernels a step, their classes, busy, idle, gaps, launches.

    FILE is what torch.profiler exports (.json, .json.gz) or what `nsys export --type sqlite` writes.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv both ask for stdout: choose one")
    from experiments.profile.profiled import profile
    from experiments.profile.read import read_recording
    from experiments.profile.steps import compiled

    compiled(step)
    found = profile(read_recording(file), step)
    if as_json:
        import json

        from experiments.profile.record import profile_record

        click.echo(json.dumps(profile_record(found), indent=2, allow_nan=False))
    elif as_csv:
        from experiments.export import records_csv
        from experiments.profile.record import profile_rows

        click.echo(records_csv(profile_rows(found)), nl=False)
    else:
        from experiments.profile.show import profile_parts
        from experiments.text.page import show_page

        show_page(profile_parts(found, top))

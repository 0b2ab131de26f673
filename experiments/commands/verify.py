"""patternloom verify: every mapping of a workload on numbers, against the float64 reference."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from experiments.options import number, read_settings, request_of, workload_options
from experiments.request import GPU, RDU

if TYPE_CHECKING:
    from experiments.request import Request
    from experiments.verify import Verification

WRONG = 1


@click.command
@workload_options
@click.option("--gpu", default=GPU, show_default=True, help="Which GPU.")
@click.option("--rdu", default=RDU, show_default=True, help="Which RDU.")
@number("--members", 1, default=1, show_default=True, help="How many machines of each, tensor parallel.")
@click.option(
    "--policy", "policies", multiple=True, help="Fusion policy of the GPU; may be given again.  [default: all]"
)
@click.option("--mode", "modes", multiple=True, help="Mode of the RDU; may be given again.  [default: all]")
@click.option("--schedule", "schedules", multiple=True, help="Schedule of the GPU; may be given again.  [default: all]")
@click.option(
    "--option",
    "fixed",
    metavar="NAME=VALUE",
    callback=read_settings,
    multiple=True,
    help="Fix what the GPU model would choose: tile_m, splits ....",
)
@number("--seed", 0, default=0, show_default=True, help="Of the random numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def command(ctx: click.Context, /, as_json: bool, members: int, schedules: tuple[str, ...], **values: Any) -> None:
    """Verify WORKLOAD: run it on numbers in every way that both machines map it, and compare with the reference.

    The plans are those of the real extents, with their calls, groups, tiles and splits; they are executed with small
    extents. Most time goes into planning: seconds for an operator, a minute or two for a model in all schedules of the
    GPU, a fraction of it with `--schedule auto`. Exit status 1 if a mapping's numbers are not those of the float64
    reference.
    """
    result = run(request_of({**values, "gpus": members, "sockets": members}), schedules)
    print_verification(result, as_json)
    if result.wrong:
        ctx.exit(WRONG)


def print_verification(result: Verification, as_json: bool) -> None:
    """The result on stdout."""
    import json

    from experiments.text.page import show_page
    from experiments.text.verify import verification_parts, verification_record

    if as_json:
        click.echo(json.dumps(verification_record(result), indent=2, allow_nan=False))
    else:
        show_page(verification_parts(result))


def run(request: Request, schedules: tuple[str, ...]) -> Verification:
    """The verification, with a bar on stderr where that is a terminal."""
    from experiments.verify import verify

    if not sys.stderr or not sys.stderr.isatty():
        return verify(request, schedules)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("lowering", total=None)

        def show_progress(text: str, done: int, of: int) -> None:
            bar.update(task, description=text, completed=done, total=of)

        return verify(request, schedules, show_progress)

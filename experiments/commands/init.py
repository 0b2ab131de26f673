"""patternloom init: a graph file or a sweep file to start from."""

from __future__ import annotations

from pathlib import Path

import click

KINDS = ("graph", "sweep")


@click.command
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), default="graph", show_default=True, help="What is to be written.")
def command(name: str, kind: str) -> None:
    """Write NAME.yaml, a commented graph to start from, and the schema by which an editor checks it.

    A file that is there already is not overwritten. NAME may be in another folder, which must exist.
    """
    from experiments.start import SUFFIX, start

    written = start(Path(name if name.endswith(SUFFIX) else f"{name}{SUFFIX}"), kind)
    click.echo("wrote " + ", ".join(map(str, written)), err=True)

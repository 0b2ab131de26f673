"""patternloom init: a graph file to start from."""

from __future__ import annotations

from pathlib import Path

import click


@click.command
@click.argument("name")
def command(name: str) -> None:
    """Write NAME.yaml, a commented graph to start from, and the schema by which an editor checks it.

    A file that is there already is not overwritten. NAME may be in another folder, which must exist.
    """
    from experiments.start import SUFFIX, start

    written = start(Path(name if name.endswith(SUFFIX) else f"{name}{SUFFIX}"))
    click.echo("wrote " + ", ".join(map(str, written)), err=True)

"""patternloom check: every mistake of a file at once, or what the graph in it comes to."""

from __future__ import annotations

import click


@click.command
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def command(file: str) -> None:
    """Check FILE, a graph in YAML or a model's config.json: all its mistakes, or one line that says what it is."""
    from experiments.text.graph import ok_line
    from patterns.library import workload

    click.echo(ok_line(file, workload(file)))

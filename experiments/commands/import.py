# ruff: noqa: N999 - a command's file has the command's name.
"""patternloom import: a foreign file as a graph file, to be read and changed by hand."""

from __future__ import annotations

from pathlib import Path

import click


@click.command
@click.argument("file")
@click.option("-o", "--output", metavar="OUT.yaml", help="Write the graph file there.  [default: print it]")
@click.option("--name", help="The graph's name.  [default: after the file]")
def command(file: str, output: str | None, name: str | None) -> None:
    """Write FILE, of a format that is imported, as a graph in YAML that reads back as the same graph."""
    from experiments.output import check_writable, write_file
    from patterns.library import imported_text

    if output:
        check_writable(Path(output), folder=False)
    text = imported_text(file, name)
    if output:
        write_file(Path(output), text.encode())
        click.echo(f"wrote {output}", err=True)
    else:
        click.echo(text, nl=False)

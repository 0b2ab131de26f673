"""patternloom schema: what a graph file or a sweep file may say, for editors."""

from __future__ import annotations

from pathlib import Path

import click

KINDS = ("graph", "sweep")


@click.command
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), help="Write it to this file, not to stdout.")
@click.option("--kind", type=click.Choice(KINDS), default="graph", show_default=True, help="Of which kind of file.")
def command(file: Path | None, kind: str) -> None:
    """Write the JSON Schema of a graph file, made from the models that the loader uses.

    An editor with a YAML language server reads it where a graph begins with
    `# yaml-language-server: $schema=FILE`, a path from the graph's folder. `patternloom init` writes both.
    """
    from experiments.output import write_file
    from experiments.start import schema_text

    text = schema_text(kind)
    if file is None:
        click.echo(text, nl=False)
        return
    write_file(file, text.encode())
    click.echo(f"wrote {file}", err=True)

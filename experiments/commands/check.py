"""patternloom check: every mistake of a file at once, or what the graph in it comes to."""

from __future__ import annotations

import click


@click.command
@click.argument("file")
def command(file: str) -> None:
    """Check FILE, a graph in YAML or a model's config.json: all its mistakes, or what it comes to."""
    from experiments.text.graph import ok_parts
    from experiments.text.page import show_page
    from patterns.library import workload

    show_page([ok_parts(file, workload(file))])

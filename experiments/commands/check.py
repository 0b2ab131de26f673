"""patternloom check: every mistake of a file at once, or what the graph in it comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from patterns.errors import Mistake
    from patterns.graph import Graph


@click.command
@click.argument("file")
@click.option("--strict", is_flag=True, help="Take warnings for mistakes.")
def command(file: str, strict: bool) -> None:
    """Check FILE, a graph in YAML, a model's config.json or its checkpoint: all its mistakes, or what it comes to.

    What is legal but suspicious is told on stderr: what nobody reads or uses, sums over a dim of extent 1, outer
    products, results that are rounded, products of weights.
    """
    from experiments.text.graph import ok_parts
    from experiments.text.page import show_page
    from patterns.errors import SpecError
    from patterns.library import remarks

    graph, warnings = read(file)
    if strict and warnings:
        raise SpecError(warnings)
    for warning in warnings:
        click.echo(warning.warning, err=True)
    show_page([*ok_parts(file, graph), *remarks(file)])


def read(file: str) -> tuple[Graph, tuple[Mistake, ...]]:
    """The graph of a workload, and what in its file is suspicious."""
    from patterns.library import graph_file, workload
    from patterns.read import read_with_warnings

    found = graph_file(file)
    return (workload(file), ()) if found is None else read_with_warnings(found)

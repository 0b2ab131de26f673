"""patternloom list: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

SECTIONS = ("machines", "graphs", "policies", "schedules", "studies")


@click.command
@click.argument("section", type=click.Choice(SECTIONS), required=False)
def command(section: str | None) -> None:
    """List machines, graphs, policies, schedules or studies; everything if SECTION is left out."""
    from experiments.catalogue import SECTION_ENTRIES, Entry

    listed: Mapping[str, Callable[[], list[Entry]]] = SECTION_ENTRIES
    for name in [section] if section else SECTIONS:
        if section is None:
            click.echo(f"{name}:")
        entries = listed[name]()
        width = max((len(entry.name) for entry in entries), default=0)
        for entry in entries:
            click.echo(f"{'' if section else '  '}{entry.name.ljust(width)}  {entry.about}".rstrip())

"""patternloom list: what there is to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from experiments.catalogue import Entry

SECTIONS = (
    "machines",
    "graphs",
    "policies",
    "schedules",
    "loaders",
    "layouts",
    "launches",
    "stages",
    "kinds",
    "architectures",
    "studies",
    "sweeps",
    "plots",
    "families",
)


@click.command
@click.argument("section", type=click.Choice(SECTIONS), required=False, metavar="[SECTION]")
def command(section: str | None) -> None:
    """List machines, graphs, policies, schedules, loaders, layouts, launches, stages (of the RDU's compile flow), kinds
    (of patterns), architectures (of models that are imported), studies, sweeps (examples), plots or families (of
    measurements); everything if SECTION is left out.
    """
    from experiments.catalogue import SECTION_ENTRIES
    from experiments.text.page import show_page

    if section is None:
        show_page(listed(name, SECTION_ENTRIES[name]()) for name in SECTIONS)
        return
    entries = SECTION_ENTRIES[section]()
    told = ("\n  ".join([entry.name, *entry.details]) for entry in entries if entry.details)
    show_page([listed(section, entries), *told])


def listed(section: str, entries: list[Entry]) -> str:
    """A heading and a line for each entry."""
    width = max((len(entry.name) for entry in entries), default=0)
    lines = [f"  {entry.name.ljust(width)}  {entry.about}".rstrip() for entry in entries]
    return "\n".join([f"{section}:", *(lines or ["  none yet"])])

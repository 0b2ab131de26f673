"""The last step of compiling a section: what the ways over the mesh cost its tiles, estimated or placed and routed."""

from __future__ import annotations

from rdu_model.section import Section


def wired(section: Section, placement: str, seed: int) -> Section:
    """The section with its wires. placement: `estimate` for a formula, `full` for the grid; the seed is for the latter.

    Raises UserError and DoesNotFit for what `full` finds no place or no route for.
    """
    if placement == "full":
        # numpy takes longer to load than a section to compile.
        from rdu_model.floor.layout import place_and_route

        return place_and_route(section, seed)
    return section.estimated

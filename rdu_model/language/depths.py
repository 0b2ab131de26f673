"""Buffers that a person made shallower than their edge asks for: what that costs, and which depth costs nothing.

Both are simulated, so that unequal stages count for what they are: where a stage is always slower, a shallow buffer
beside it may cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from patterns.errors import DoesNotFit
from patterns.pipeline.simulate import simulate
from rdu_model.compilation import compile_metapipe
from rdu_model.emit import emit
from rdu_model.flow import Link, take_apart
from rdu_model.machine import Machine
from rdu_model.pipe import Metapipe


@dataclass(frozen=True)
class Shallow:
    """A buffer that slows its metapipe down, whatever the others are.

    source: the item whose buffer it is; reader: the one farthest behind it. depth: what it has; enough: the least with
    which nothing is lost. cycles: of the whole metapipe with `depth`, where all others are deep enough; best_cycles:
    with `enough`.
    """

    source: str
    reader: str
    depth: int
    enough: int
    cycles: int
    best_cycles: int

    @property
    def text(self) -> str:
        """As a warning: which edge, what it costs, which depth it needs."""
        slots = f"{self.depth} slot{'s' * (self.depth != 1)}"
        longer = f"{100 * (self.cycles - self.best_cycles) / self.best_cycles:.3g}"
        return (
            f"the buffer of {self.source!r}, from {self.source!r} to {self.reader!r}, has {slots}, which slows the "
            f"metapipe down: {self.cycles:,} cycles, {longer} % more than {self.best_cycles:,} with depth={self.enough}"
        )


class _Cut(Exception):
    """A metapipe with these depths is no longer one section."""


def shallow_buffers(metapipe: Metapipe, machine: Machine) -> tuple[Shallow, ...]:
    """Those of the buffers with a depth of a person's that cost time, in a metapipe that one section holds.

    None where the deeper ones would not fit into one. Nothing is simulated where no depth is less than the edge asks
    for. Raises UserError, Deadlock.
    """
    links = take_apart(replace(metapipe, depths=())).links
    given = dict(metapipe.depths)
    asked = {link.source: link for link in sorted(links, key=lambda link: link.depth)}
    low = {source: asked[source] for source, depth in given.items() if source in asked and depth < asked[source].depth}
    if not low:
        return ()
    deep = given | {source: link.depth for source, link in low.items()}
    try:
        found = [_shallow(metapipe, machine, link, deep, given[source]) for source, link in low.items()]
    except (DoesNotFit, _Cut):
        return ()
    return tuple(one for one in found if one is not None)


def _shallow(metapipe: Metapipe, machine: Machine, link: Link, deep: dict[str, int], depth: int) -> Shallow | None:
    """What one buffer costs, all others being as deep as they should."""

    def cycles(slots: int) -> int:
        changed = replace(metapipe, depths=tuple({**deep, link.source: slots}.items()))
        sections = compile_metapipe(changed, machine).sections
        if len(sections) > 1:
            raise _Cut
        return simulate(emit(sections[0].section), spans=False).total_cycles

    best, has = cycles(link.depth), cycles(depth)
    if has <= best:
        return None
    fails, enough = depth, link.depth
    while enough - fails > 1:
        middle = (fails + enough) // 2
        if cycles(middle) <= best:
            enough = middle
        else:
            fails = middle
    return Shallow(link.source, link.last, depth, enough, has, best)

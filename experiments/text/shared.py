"""What several members of a group hold alike though it is divided: there are fewer parts than members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from patterns.counting.copies import copies

if TYPE_CHECKING:
    from experiments.request import Request


def shared_lines(request: Request) -> Iterator[str]:
    """A sentence for each side of a request that has more members than some tensors have parts."""
    from experiments.compare import read_graph
    from experiments.settings import settle
    from experiments.sides import sides

    both = sides(request)
    settings = settle(request, both)
    for side in both:
        if side.members > 1:
            whole, part = (read_graph(request, members, settings) for members in (1, side.members))
            held: dict[int, list[str]] = {}
            for name, holders in copies(whole, part, side.members):
                if 1 < holders < side.members:
                    held.setdefault(int(holders), []).append(name)
            for count, names in held.items():
                yield (
                    f"{', '.join(names)} have fewer parts than there are members of {side.members} x {side.machine}:"
                    f" each part is held, and read, by {count} of them."
                )

"""Which rank of a run the others wait for, and how far ranks are apart. All times are ns of one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import mean

from experiments.profile.ranks import Ranks, Seat

# Below this share of a step, ranks are alike.
ALIKE = 0.01
MEASURES: Mapping[str, Callable[[Seat], float]] = {
    "step": lambda seat: seat.step_ns,
    "compute": lambda seat: seat.compute_ns,
    "communication": lambda seat: seat.communication_ns,
}
# What makes a rank come late to a collective.
CAUSES = ("compute", "copy", "idle")


@dataclass(frozen=True)
class Apart:
    """The seat with least and that with most of something."""

    least: Seat
    most: Seat
    least_ns: float
    most_ns: float

    @property
    def between_ns(self) -> float:
        """How far they are apart."""
        return self.most_ns - self.least_ns


@dataclass(frozen=True)
class Waited:
    """The seat that is in collectives shortest, and of what it has most more than the mean of the others."""

    seat: Seat
    cause: str
    more_ns: float


def apart(ranks: Ranks) -> dict[str, Apart]:
    """How far seats are apart in every measure."""
    found = {}
    for name, measure in MEASURES.items():
        least, most = min(ranks.seats, key=measure), max(ranks.seats, key=measure)
        found[name] = Apart(least, most, measure(least), measure(most))
    return found


def waited_for(ranks: Ranks) -> Waited | None:
    """Who comes to the collectives last; None where there are none, or where ranks are alike."""
    found = apart(ranks)["communication"]
    step_ns = mean(seat.step_ns for seat in ranks.seats)
    if not found.least_ns or found.between_ns < ALIKE * step_ns:
        return None
    others = [seat for seat in ranks.seats if seat is not found.least]
    more = {cause: found.least.part_ns(cause) - mean(seat.part_ns(cause) for seat in others) for cause in CAUSES}
    cause = max(more, key=lambda name: more[name])
    return Waited(found.least, cause, more[cause])

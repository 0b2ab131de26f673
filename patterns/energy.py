"""What a run takes in energy: by what it was spent on, each part with the range that its sources leave open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class EnergyPart:
    """Joules spent on one thing (matrix, vector, hbm, issue, static ...): as likely as not, and the two ends.

    num_events: how many operations, bytes or instructions it is of.
    """

    name: str
    num_events: int
    low_j: float
    typical_j: float
    high_j: float


@dataclass(frozen=True)
class Energy:
    """The energy of a run over all members. The parts add up to it, and so do their ends."""

    parts: tuple[EnergyPart, ...]

    @property
    def low_j(self) -> float:
        """The sum with every part at its low end."""
        return self._sum(lambda part: part.low_j)

    @property
    def typical_j(self) -> float:
        """The sum of the typical values."""
        return self._sum(lambda part: part.typical_j)

    @property
    def high_j(self) -> float:
        """The sum with every part at its high end."""
        return self._sum(lambda part: part.high_j)

    def _sum(self, joules: Callable[[EnergyPart], float]) -> float:
        return sum(joules(part) for part in self.parts)

"""Candidates that were found so far, and whether one of which only a bound is known may still be chosen or told of."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_model.asked import Chosen

# What a candidate is preferred by where it keeps as many SMs at work: its cycles, then more slots.
Rank = tuple[int, int]
# Of tiles of which nothing is known before their work is: every rank is after it.
NO_BOUND = (0, 0)
# Assumed: predictions that differ by less than 1 % say nothing of which is faster.
CLOSE = 1.01


class Found:
    """By number of the tiles and schedule. reasons: whether the best of every schedule is told of."""

    def __init__(self, reasons: bool) -> None:
        self.by_place: dict[tuple[int, str], tuple[Chosen, ...]] = {}
        self._reasons = reasons
        # Of each schedule, or of all together: SMs that are kept at work, with ranks.
        self._first: dict[str, list[tuple[int, Rank]]] = {}
        self._most = 0.0

    def add(self, number: int, name: str, busy: int, candidates: Iterable[Chosen]) -> None:
        """Those of some tiles, which keep so many SMs at work, under a schedule."""
        self.by_place[number, name] = found = tuple(candidates)
        first = self._first.setdefault(self._of(name), [])
        for one in found:
            if one.misfit is None:
                first.append((busy, (one.predicted_cycles, -one.choice.slots)))
                most = one.predicted_cycles * CLOSE
                self._most = min(self._most or most, most)

    def rules_out(self, name: str, busy: int, bound: Rank) -> bool:
        """Whether others are taken before all with this bound: such that keep as many SMs at work and rank before them,
        or that are clearly faster. Each schedule's own, where all are told of."""
        if not self._reasons and self._most and bound[0] > self._most:
            return True
        return any(sms >= busy and rank < bound for sms, rank in self._first.get(self._of(name), ()))

    def _of(self, name: str) -> str:
        return name if self._reasons else ""

"""Moments of a run that may be met again: remembered by signature and counters, forgotten in order of time."""

from __future__ import annotations

from dataclasses import dataclass

from patterns.pipeline.signature import Signature

Counters = tuple[int, ...]

KEPT_IN_ALL = 4096


@dataclass(frozen=True)
class Moment:
    """The end of a cycle that was looked at: what a later one needs to know of it.

    stalled: accounts so far, by sort. skipped: real cycles that windows before it left out. spans: recorded so far.
    oldest: index of the earliest span in flight (`spans` if there is none).
    """

    cycle: int
    signature: Signature
    counters: Counters
    stalled: tuple[int, ...]
    skipped: int
    spans: int
    oldest: int


class Moments:
    """Moments remembered, in order of time; at most KEPT_IN_ALL."""

    def __init__(self) -> None:
        self._seen: dict[Signature, dict[Counters, Moment]] = {}
        self._order: list[Moment] = []

    def alike(self, moment: Moment) -> dict[Counters, Moment]:
        """Remembered moments of the same signature, by counters, oldest first."""
        return self._seen.get(moment.signature, {})

    def remember(self, moment: Moment) -> None:
        """Keep a moment, later than all that are kept."""
        if len(self._order) >= KEPT_IN_ALL:
            self.forget_all()
        self._seen.setdefault(moment.signature, {})[moment.counters] = moment
        self._order.append(moment)

    def forget_after(self, cycle: int) -> None:
        """Forget moments inside a window that begins at `cycle`, so that windows nest."""
        while self._order and self._order[-1].cycle > cycle:
            moment = self._order.pop()
            del self._seen[moment.signature][moment.counters]

    def forget_all(self) -> None:
        """Forget everything."""
        self._seen.clear()
        self._order.clear()

"""What a gap of a unit was spent on: the chain of causes, walked back from what ended the gap to where it began.

Where the gap holds windows, the walk goes through each of their repeats: in each it may enter at another span. It soon
enters where it did before, and from then on whole laps are counted at once, so the cost does not grow with repeats.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from patterns.pipeline.timeline import Span, Timeline, Window

LATENCY = "latency"


@dataclass(frozen=True)
class Repeat:
    """A window with those inside it. num_spans: recorded in it. cycles: real length of one pass."""

    start: int
    end: int
    extra: int
    inner: tuple[Repeat, ...]
    num_spans: int
    cycles: int

    @property
    def skipped_cycles(self) -> int:
        """Real length of all passes, less the stepped length of the window."""
        return (self.extra + 1) * self.cycles - (self.end - self.start)


def nested(timeline: Timeline) -> tuple[Repeat, ...]:
    """The outermost windows of a run, in order."""
    starts = [span.start for span in timeline.spans]
    stack = sorted(timeline.windows, key=lambda window: (-window.start, window.end))
    found = []
    while stack:
        found.append(_repeat(stack.pop(), stack, starts))
    return tuple(found)


def _repeat(window: Window, stack: list[Window], starts: Sequence[int]) -> Repeat:
    inner = []
    while stack and stack[-1].end <= window.end:
        inner.append(_repeat(stack.pop(), stack, starts))
    # A period begins when a cycle is over: what starts in that cycle is before it.
    num_spans = bisect_right(starts, window.end) - bisect_right(starts, window.start)
    cycles = window.end - window.start + sum(repeat.skipped_cycles for repeat in inner)
    return Repeat(window.start, window.end, window.extra, tuple(inner), num_spans, cycles)


def lying_in(repeats: Sequence[Repeat], begin: int, end: int) -> Iterator[Repeat]:
    """The outermost windows that lie in stepped [begin, end), in order."""
    for repeat in repeats:
        if begin <= repeat.start and repeat.end <= end:
            yield repeat
        elif begin < repeat.end and repeat.start < end:
            yield from lying_in(repeat.inner, begin, end)


@dataclass(frozen=True)
class Walk:
    """Walks back along causes. part_of: how a piece of a span is named, by unit."""

    spans: tuple[Span, ...]
    part_of: Mapping[str, str]

    def back(self, now: int, floor: int, index: int, repeats: Sequence[Repeat], cycles: Counter[str]) -> int:
        """Add the pieces of stepped [floor, now) to `cycles`, from span `index` on; the span that covers `floor`.

        repeats: the outermost windows that lie in between, in order. Index -1: no cause is known; it is latency.
        """
        for repeat in reversed(repeats):
            index = self._straight(now, repeat.end, index, cycles)
            index = self._through(repeat, index, cycles)
            now = repeat.start
        return self._straight(now, floor, index, cycles)

    def _straight(self, now: int, floor: int, index: int, cycles: Counter[str]) -> int:
        """The same where every moment happened once."""
        while now > floor and index >= 0:
            span = self.spans[index]
            end = max(floor, min(now, span.end))
            start = max(floor, min(end, span.start))
            cycles[LATENCY] += now - end
            cycles[self.part_of[span.unit]] += end - start
            now = start
            if span.start > floor:
                index = span.cause
        cycles[LATENCY] += now - floor
        return index

    def _through(self, repeat: Repeat, index: int, cycles: Counter[str]) -> int:
        """The same through all passes of a window, the last one first."""
        passes: list[tuple[int, Counter[str]]] = []
        entered: dict[int, int] = {}
        while index not in entered and len(passes) <= repeat.extra:
            entered[index] = len(passes)
            found: Counter[str] = Counter()
            left_at = self.back(repeat.end, repeat.start, index, repeat.inner, found)
            passes.append((left_at, found))
            # In the pass before, the same span is as far from its end as this one is from the start of this pass.
            index = left_at + repeat.num_spans if left_at >= 0 else -1
        lap = passes[entered.get(index, 0) :]
        laps, rest = divmod(repeat.extra + 1 - len(passes), len(lap))
        for number, (_, found) in enumerate(lap):
            for name, amount in found.items():
                cycles[name] += amount * (laps + (number < rest))
        for _, found in passes:
            cycles.update(found)
        return (lap[rest - 1] if rest else passes[-1])[0]

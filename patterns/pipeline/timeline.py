"""What a simulated Program did, and when: spans, repeated windows, and folds over them.

Time is *stepped* cycles: the periods that the simulator jumped over are cut out, so the cost of a Timeline does not
grow with trip counts. A Window says that the stepped interval [start, end) happened `extra` more times right after
itself. Windows nest or are disjoint; weights multiply. Anything that is an integral over time is exact: integrate
over stepped time with the weight of each moment.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, takewhile
from typing import NamedTuple


class Span(NamedTuple):
    """One use of a unit, in stepped cycles. (A NamedTuple: runs have very many, and a dataclass takes thrice as long.)

    ready: its request came to the unit (from the role, or from its line when the one before was taken). start, end:
    the unit was held [start, end). usable: end of its latency (>= end).
    cause: index of the span that this one waited for last (its unit's earlier holder, the producer of its tile, the
    reader that freed its slot, the role's own op before it), which ends or becomes usable in the cycle in which this
    one starts; -1 for none, in cycle 0.
    """

    role: str
    label: str
    unit: str
    ready: int
    start: int
    end: int
    usable: int
    cause: int = -1


@dataclass(frozen=True)
class Window:
    """Stepped [start, end) happened `extra` more times. Its spans are those with start < span.start <= end."""

    start: int
    end: int
    extra: int


@dataclass(frozen=True)
class Stall:
    """Cycles that a role waited at ops of one sort ('acquire a', 'wait b', 'await turn', 'finish h', 'unit tc')."""

    role: str
    what: str
    cycles: int


@dataclass(frozen=True)
class Timeline:
    """One run of a Program. All totals are of the whole run, jumped periods included.

    spans: in the order in which units took the work (so by start, and a cause is before its effects); () if simulated
    without spans. stalls: sorted by role and what.
    counters: the ops' counts added up. steps: ops the simulator executed (not those it jumped over).
    """

    total_cycles: int
    stepped_cycles: int
    windows: tuple[Window, ...] = field(repr=False)
    spans: tuple[Span, ...] = field(repr=False)
    busy: tuple[tuple[str, int], ...]
    stalls: tuple[Stall, ...] = field(repr=False)
    counters: tuple[tuple[str, int], ...]
    steps: int

    @cached_property
    def busy_cycles(self) -> Mapping[str, int]:
        """Busy cycles by unit (summed over its lanes)."""
        return dict(self.busy)


def segments(timeline: Timeline) -> tuple[tuple[int, int, int], ...]:
    """Stepped time [0, stepped_cycles) in pieces (start, end, weight): each moment of a piece happened weight times."""
    cuts = sorted(
        {0, timeline.stepped_cycles, *(w.start for w in timeline.windows), *(w.end for w in timeline.windows)}
    )
    pieces, weight, opened = [], 1, _by_start(timeline.windows)
    closing: list[Window] = []
    for start, end in pairwise(cuts):
        while closing and closing[-1].end <= start:
            weight //= closing.pop().extra + 1
        while opened and opened[-1].start == start:
            closing.append(opened.pop())
            weight *= closing[-1].extra + 1
        pieces.append((start, end, weight))
    return tuple(pieces)


def real_cycle(timeline: Timeline, stepped: int) -> int:
    """The real cycle in which a stepped moment happened first; the end of a window is after all its repeats."""
    return stepped + _skipped_before(_body(timeline), stepped)


def real_spans(timeline: Timeline, begin_cycle: int = 0, end_cycle: int | None = None) -> Iterator[Span]:
    """Spans in real cycles, repeats unrolled one by one, in order of start: those not over before begin_cycle, and
    started before end_cycle. `cause` counts all real spans from cycle 0, as in a run without windows.
    """
    longest = max((span.usable - span.start for span in timeline.spans), default=0)
    unrolled = _unroll(timeline.spans, _body(timeline), 0, 0, begin_cycle - longest)
    wanted = (span for span in unrolled if span.usable > begin_cycle or span.start >= begin_cycle)
    return wanted if end_cycle is None else takewhile(lambda span: span.start < end_cycle, wanted)


def first_passes(timeline: Timeline) -> Iterator[tuple[Span, int]]:
    """Every stepped span, and how many cycles later it really happened first."""
    return _firsts(timeline.spans, _body(timeline), 0)


def repeats(timeline: Timeline) -> Iterator[Repeated]:
    """The repeats of every window where it happens first."""
    return _repeats(timeline.spans, _body(timeline), 0)


@dataclass(frozen=True)
class Repeated:
    """What a window does after its first pass, in real cycles [begin, end): `extra` more passes.

    spans: of one pass, and how often each happens in it.
    """

    begin: int
    end: int
    extra: int
    spans: tuple[tuple[Span, int], ...] = field(repr=False)


@dataclass(frozen=True)
class _Body:
    """One pass of a window: the spans [first, last) and windows in it; cycles and spans, inner repeats included."""

    start: int
    end: int
    extra: int
    first: int
    last: int
    inner: tuple[_Body, ...]
    cycles: int
    spans: int

    @property
    def skipped(self) -> int:
        """Cycles that all passes take beyond the stepped ones."""
        return (self.extra + 1) * self.cycles - (self.end - self.start)


def _by_start(windows: tuple[Window, ...]) -> list[Window]:
    """A stack of windows: the earliest on top, and an outer one above those inside it."""
    return sorted(windows, key=lambda w: (-w.start, w.end))


def _body(timeline: Timeline) -> _Body:
    starts = [span.start for span in timeline.spans]
    return _build(Window(-1, timeline.stepped_cycles, 0), _by_start(timeline.windows), starts)


def _build(window: Window, stack: list[Window], starts: list[int]) -> _Body:
    inner = []
    while stack and stack[-1].end <= window.end:
        inner.append(_build(stack.pop(), stack, starts))
    first, last = bisect_right(starts, window.start), bisect_right(starts, window.end)
    return _Body(
        window.start,
        window.end,
        window.extra,
        first,
        last,
        tuple(inner),
        window.end - window.start + sum(body.skipped for body in inner),
        last - first + sum((body.extra + 1) * body.spans - (body.last - body.first) for body in inner),
    )


def _skipped_before(body: _Body, stepped: int) -> int:
    """Cycles of repeats that are over before a stepped moment in the first pass of a body."""
    return sum(
        inner.skipped if inner.end <= stepped else _skipped_before(inner, stepped)
        for inner in body.inner
        if inner.start < stepped
    )


def _firsts(spans: tuple[Span, ...], body: _Body, shift: int) -> Iterator[tuple[Span, int]]:
    """The first pass of a body and of all windows in it."""
    first = body.first
    for inner in body.inner:
        yield from ((spans[i], shift) for i in range(first, inner.first))
        yield from _firsts(spans, inner, shift)
        shift += inner.skipped
        first = inner.last
    yield from ((spans[i], shift) for i in range(first, body.last))


def _repeats(spans: tuple[Span, ...], body: _Body, shift: int) -> Iterator[Repeated]:
    """The repeats of the windows in the first pass of a body."""
    for inner in body.inner:
        yield from _repeats(spans, inner, shift)
        begin = inner.start + shift + inner.cycles
        yield Repeated(begin, begin + inner.extra * inner.cycles, inner.extra, tuple(_one_pass(spans, inner, 1)))
        shift += inner.skipped


def _one_pass(spans: tuple[Span, ...], body: _Body, times: int) -> Iterator[tuple[Span, int]]:
    """Spans of a pass of a body, and how often each happens in it, windows in it included."""
    first = body.first
    for inner in body.inner:
        yield from ((spans[i], times) for i in range(first, inner.first))
        yield from _one_pass(spans, inner, times * (inner.extra + 1))
        first = inner.last
    yield from ((spans[i], times) for i in range(first, body.last))


def _unroll(spans: tuple[Span, ...], body: _Body, shift: int, position: int, skip_before: int) -> Iterator[Span]:
    """One pass of a body, `shift` cycles after its stepped time. `position` counts the real spans before it.
    Repeats that are over before the real cycle `skip_before` are left out.
    """
    first = body.first
    for inner in (*body.inner, None):
        last = body.last if inner is None else inner.first
        yield from (_real(spans[i], shift, position - first) for i in range(first, last))
        position += last - first
        if inner is not None:
            skipped = min(max((skip_before - shift - inner.start) // inner.cycles - 1, 0), inner.extra)
            for repeat in range(skipped, inner.extra + 1):
                at = position + repeat * inner.spans
                yield from _unroll(spans, inner, shift + repeat * inner.cycles, at, skip_before)
            shift += inner.skipped
            position += (inner.extra + 1) * inner.spans
            first = inner.last


def _real(span: Span, shift: int, moved: int) -> Span:
    """A span `shift` cycles later; its cause is as far before it in the list as in stepped time."""
    return Span(
        span.role,
        span.label,
        span.unit,
        span.ready + shift,
        span.start + shift,
        span.end + shift,
        span.usable + shift,
        span.cause + moved if span.cause >= 0 else -1,
    )

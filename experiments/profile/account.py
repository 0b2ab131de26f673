"""What one device did in a window of time: busy and idle, gaps, and what ran beside what. All times are whole ns."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from experiments.intervals import Interval, clipped, common, gaps, length, union
from experiments.profile.attribution import Started
from experiments.profile.classes import class_of, sorts

# Bands of gaps: up to 2 us is what passes between two kernels of a queue, beyond 10 us somebody waited.
BANDS_NS = (("under 2 us", 0, 2_000), ("2 to 10 us", 2_000, 10_000), ("over 10 us", 10_000, None))
SORTS = ("compute", "copy", "communication")


@dataclass(frozen=True)
class GapBand:
    """Gaps of about one length: how many, and how long in all."""

    name: str
    count: int
    total_ns: int


@dataclass(frozen=True)
class Beside:
    """Two sorts of work: how long each was at work, and how long both were."""

    one: str
    other: str
    one_ns: int
    other_ns: int
    both_ns: int


@dataclass(frozen=True)
class Account:
    """A device in a window: busy + idle = span, and the gaps add up to idle.

    sum_ns: of durations; more than busy_ns where kernels overlap. stream_overlap_ns: of that, between kernels of one
    stream (programmatic dependent launch). host_wait_ns: idle while the launch of what ended the gap had not returned.
    unknown_ns: idle before kernels whose launch is not known.
    """

    activities: int
    streams: int
    span_ns: int
    busy_ns: int
    sum_ns: int
    stream_overlap_ns: int
    gaps: tuple[GapBand, ...]
    host_wait_ns: int
    unknown_ns: int
    beside: tuple[Beside, ...]

    @property
    def idle_ns(self) -> int:
        """Nothing ran."""
        return self.span_ns - self.busy_ns


def account(work: Sequence[Started], window: Interval) -> Account:
    """The account of one device's work, in order of start; what lies outside of the window is cut off."""
    inside = [one for one in work if one.kernel.start < window[1] and one.kernel.end > window[0]]
    by_stream: dict[int, list[Interval]] = defaultdict(list)
    by_sort: dict[str, list[Interval]] = defaultdict(list)
    of_class = sorts()
    for one in inside:
        (span,) = clipped(((one.kernel.start, one.kernel.end),), window)
        by_stream[one.kernel.stream].append(span)
        by_sort[of_class[class_of(one.kernel.name)]].append(span)
    streams = {stream: union(spans) for stream, spans in by_stream.items()}
    busy = union(span for spans in streams.values() for span in spans)
    total = sum(length(spans) for spans in by_stream.values())
    free = gaps(busy, window)
    host, unknown = _waits(free, inside)
    unions = {sort: union(by_sort[sort]) for sort in SORTS if sort in by_sort}
    return Account(
        activities=len(inside),
        streams=len(streams),
        span_ns=window[1] - window[0],
        busy_ns=length(busy),
        sum_ns=total,
        stream_overlap_ns=total - sum(length(spans) for spans in streams.values()),
        gaps=tuple(_band(free, *band) for band in BANDS_NS),
        host_wait_ns=host,
        unknown_ns=unknown,
        beside=tuple(
            Beside(one, other, length(unions[one]), length(unions[other]), length(common(unions[one], unions[other])))
            for one, other in combinations(unions, 2)
        ),
    )


def _band(free: Sequence[Interval], name: str, low: int, high: int | None) -> GapBand:
    lengths = [end - start for start, end in free if low <= end - start and (high is None or end - start < high)]
    return GapBand(name, len(lengths), sum(lengths))


def _waits(free: Sequence[Interval], work: Sequence[Started]) -> tuple[int, int]:
    """Of the gaps: until the launch of the kernel that ends each returned; and what nothing is known of."""
    starts = [one.kernel.start for one in work]
    host = unknown = 0
    for start, end in free:
        place = bisect_left(starts, end)
        if place == len(work) or starts[place] != end or (launch := work[place].launch) is None:
            unknown += end - start
        else:
            host += min(end, max(start, launch.end)) - start
    return host, unknown

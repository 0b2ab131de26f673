"""Unions of half-open intervals of whole numbers. A union is sorted, and its intervals neither touch nor overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[int, int]


def union(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """All moments that at least one of the intervals has."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            if end > found[-1][1]:
                found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)


def length(intervals: Iterable[Interval]) -> int:
    """The sum of lengths."""
    return sum(end - start for start, end in intervals)


def common(one: Sequence[Interval], other: Sequence[Interval]) -> tuple[Interval, ...]:
    """Moments that two unions share."""
    found = []
    i = j = 0
    while i < len(one) and j < len(other):
        start, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if start < end:
            found.append((start, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def gaps(busy: Sequence[Interval], window: Interval) -> tuple[Interval, ...]:
    """What of a window a union leaves free."""
    found = []
    at = window[0]
    for start, end in busy:
        if start > at:
            found.append((at, min(start, window[1])))
        at = max(at, end)
    if at < window[1]:
        found.append((at, window[1]))
    return tuple((start, end) for start, end in found if start < end)


def clipped(intervals: Iterable[Interval], window: Interval) -> Iterable[Interval]:
    """What of the intervals lies in a window."""
    low, high = window
    return ((max(start, low), min(end, high)) for start, end in intervals if start < high and end > low)

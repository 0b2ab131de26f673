"""Which call of the host's started each kernel, and which marked ranges hold that call."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from experiments.profile.recording import Kernel, Launch, Range, Recording


@dataclass(frozen=True)
class Started:
    """A kernel and its launch; None: it was launched before the recording began, or nothing says by what."""

    kernel: Kernel
    launch: Launch | None


def started(recording: Recording) -> tuple[Started, ...]:
    """Every kernel of a recording with its launch. One launch may start many: those of a CUDA graph."""
    by_number: dict[tuple[int, int], list[Launch]] = defaultdict(list)
    for launch in recording.launches:
        if launch.correlation:
            by_number[launch.process, launch.correlation].append(launch)
            if launch.process:
                by_number[0, launch.correlation].append(launch)
    return tuple(Started(kernel, _launch_of(kernel, by_number)) for kernel in recording.kernels)


def _launch_of(kernel: Kernel, by_number: dict[tuple[int, int], list[Launch]]) -> Launch | None:
    """Of the launches of its number the last that began before it: merged recordings use numbers again."""
    found = by_number.get((kernel.process, kernel.correlation), []) if kernel.correlation else []
    if len(found) < 2:
        return found[0] if found else None
    return found[max(0, bisect_right(found, kernel.start, key=lambda launch: launch.start) - 1)]


def outermost(ranges: Sequence[Range], same: Callable[[Range], str]) -> tuple[Range, ...]:
    """The ranges without those that lie in another of the `same` on their thread."""
    until: dict[tuple[int, int, str], int] = {}
    kept = []
    for one in ranges:
        key = one.process, one.thread, same(one)
        if one.end > until.get(key, one.start - 1):
            until[key] = max(one.end, until.get(key, one.end))
            kept.append(one)
    return tuple(kept)


def holders(launches: Sequence[Launch], ranges: Sequence[Range]) -> Iterator[tuple[int, list[int]]]:
    """For each launch its place and the places of the ranges of its process that hold its start. Both in order."""
    begun: dict[int, list[int]] = defaultdict(list)
    at = 0
    for place, launch in enumerate(launches):
        while at < len(ranges) and ranges[at].start <= launch.start:
            begun[ranges[at].process].append(at)
            at += 1
        running = [number for number in begun[launch.process] if ranges[number].end > launch.start]
        begun[launch.process] = running
        yield place, running


def holder(launch: Launch, ranges: Sequence[Range], running: Sequence[int]) -> int | None:
    """Of the ranges that hold a launch the one it belongs to: of its own thread, else the only one (autograd and
    compiled code launch from threads of their own); of several on one thread the innermost.
    """
    own = [number for number in running if ranges[number].thread == launch.thread]
    if own:
        return own[-1]
    return running[0] if len(running) == 1 else None

"""What a role does: a script of ops, data that can be printed, hashed and simulated.

Ops that name a channel, barrier, unit or handle name one of the Program's. `counts` are only added up: FLOPs, bytes
by level, energy events; each op's counts are added once for every time it is run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from patterns.pipeline.hashed import made_directly

Counts = tuple[tuple[str, int], ...]


@made_directly
@dataclass(frozen=True)
class Fill:
    """A tile of `channel` receives `num_bytes` (0: the whole slot)."""

    channel: str
    num_bytes: int = 0


@made_directly
@dataclass(frozen=True)
class Free:
    """Reader `reader` releases its oldest held tile of `channel`."""

    channel: str
    reader: int = 0


@dataclass(frozen=True)
class Signal:
    """One arrival at `barrier`."""

    barrier: str


Effect = Fill | Free | Signal


@made_directly
@dataclass(frozen=True)
class Run:
    """Hold `unit` for `cycles`; the role waits for the end."""

    unit: str
    cycles: int
    label: str = ""
    counts: Counts = ()


@made_directly
@dataclass(frozen=True)
class Start:
    """Hold `unit` for `cycles` without waiting. `latency` cycles after the unit is done the result is usable.

    then: what happens at that moment (fills, releases, arrivals); their tiles are bound when the op is issued.
    handle: what a Finish waits for ('' if nothing does).
    """

    unit: str
    cycles: int
    latency: int = 0
    then: tuple[Effect, ...] = ()
    handle: str = ""
    label: str = ""
    counts: Counts = ()


@made_directly
@dataclass(frozen=True)
class Finish:
    """Wait until the oldest unfinished Start of `handle` is usable."""

    handle: str


@made_directly
@dataclass(frozen=True)
class Acquire:
    """Wait for the channel's next slot to be free, and take it to fill."""

    channel: str


@made_directly
@dataclass(frozen=True)
class Commit:
    """The oldest acquired tile receives `num_bytes` (0: all), at once."""

    channel: str
    num_bytes: int = 0


@made_directly
@dataclass(frozen=True)
class Wait:
    """Wait for the next tile of `channel` to be full, and hold it, as reader `reader`."""

    channel: str
    reader: int = 0


@made_directly
@dataclass(frozen=True)
class Release:
    """Give back the oldest held tile of `channel`, as reader `reader`."""

    channel: str
    reader: int = 0


@dataclass(frozen=True)
class Arrive:
    """One arrival at `barrier`, at once."""

    barrier: str


@dataclass(frozen=True)
class Await:
    """Wait for `count` arrivals at `barrier` that this role has not taken yet, and take them."""

    barrier: str
    count: int = 1


@made_directly
@dataclass(frozen=True)
class Loop:
    """`body`, `count` times (0 is allowed: nothing happens)."""

    count: int
    body: tuple[Op, ...] = field(default=())
    label: str = ""


Op = Run | Start | Finish | Acquire | Commit | Wait | Release | Arrive | Await | Loop


def copy(
    unit: str, cycles: int, latency: int, into: str, *, num_bytes: int = 0, label: str = "", counts: Counts = ()
) -> Start:
    """An asynchronous load: the slot of `into` is full `latency` cycles after the unit is done."""
    return Start(unit, cycles, latency, (Fill(into, num_bytes),), label=label, counts=counts)


def multicast(copied: Start, into: str, num_bytes: int = 0) -> Start:
    """The same load, filling a slot of one more channel."""
    return replace(copied, then=(*copied.then, Fill(into, num_bytes)))

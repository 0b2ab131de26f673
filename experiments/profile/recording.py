"""What a profiler recorded: kernels on devices, launches on the host, ranges that a program marked. Times are whole ns.

Bulk rows are named tuples: a recording has hundreds of thousands of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from patterns.errors import UserError

# What a device did: ran a kernel, copied, set memory, or ran a whole CUDA graph that the recording did not open.
Activity = Literal["kernel", "copy", "set", "graph"]


class Kernel(NamedTuple):
    """One activity of a device. process: of its launch, 0 where the format does not say. correlation: 0 for none.

    graph: whether it is a node of a CUDA graph, where the format says so.
    """

    name: str
    activity: Activity
    device: int
    stream: int
    start: int
    end: int
    process: int
    correlation: int
    graph: bool


class Launch(NamedTuple):
    """A call of the host's that made a device work."""

    name: str
    process: int
    thread: int
    start: int
    end: int
    correlation: int


class Range(NamedTuple):
    """What a program marked on the host: a step, a record_function, an NVTX range."""

    name: str
    process: int
    thread: int
    start: int
    end: int


@dataclass(frozen=True)
class Device:
    """A GPU as the recording describes it. sms: 0 where it does not say."""

    number: int
    name: str
    sms: int = 0


@dataclass(frozen=True)
class Recording:
    """A file, read. Rows are in order of start. skipped: (why, how many) rows that could not be used.

    notes: what a reader should know of it, a sentence each. num_events: rows of the file that were looked at.
    rank, world: which process of how many it is of, where the file says so. about: what else it tells of its origin.
    """

    file: str
    format: str
    version: str
    devices: tuple[Device, ...]
    kernels: tuple[Kernel, ...] = field(repr=False)
    launches: tuple[Launch, ...] = field(repr=False)
    ranges: tuple[Range, ...] = field(repr=False)
    num_events: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    rank: int | None = None
    world: int | None = None
    about: tuple[tuple[str, str], ...] = ()


HALF = re.compile("[\ud800-\udfff]")
# What to give instead of a file that is something else.
GIVE = "give a .json or .json.gz of torch.profiler, or what `nsys export --type sqlite` writes"


class Unreadable(UserError):
    """A file is no recording, or a broken one: what it is, how far it can be read, and what would help."""

    def __init__(self, file: object, problem: str, remedy: str = "") -> None:
        super().__init__(f"{file}: {problem}" + (f"; {remedy}" if remedy else ""))


def of_letters(text: str) -> str:
    """A text that any file can hold: halves of letters, as JSON and names of files may have, are signs for them."""
    return text if text.isascii() else HALF.sub("\N{REPLACEMENT CHARACTER}", text)


def devices_of(kernels: tuple[Kernel, ...], known: Mapping[int, Device]) -> tuple[Device, ...]:
    """The devices that did something, described as far as is known."""
    numbers = sorted({kernel.device for kernel in kernels})
    return tuple(known.get(number, Device(number, f"GPU {number}")) for number in numbers)

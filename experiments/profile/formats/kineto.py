"""kineto: the JSON that torch.profiler exports, plain or packed with gzip, a whole object or a bare list of events.

Reads also what old releases wrote (categories 'Kernel', 'Runtime' ...) and what ROCm writes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import islice
from math import isfinite
from pathlib import Path

from experiments.profile.json_stream import FEWER, BrokenText, JsonStream
from experiments.profile.recording import (
    GIVE,
    Activity,
    Device,
    Kernel,
    Launch,
    Range,
    Recording,
    Unreadable,
    devices_of,
    of_letters,
)
from patterns.plural import number_of

DEVICE_WORK: Mapping[str, Activity] = {
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "memcpy": "copy",
    "gpu_memset": "set",
    "memset": "set",
}
HOST_CALLS = ("cuda_runtime", "cuda_driver", "runtime", "driver", "hip_runtime", "hip_driver")
RANGES = ("user_annotation",)
# Of a host's calls those that never put work on a device: hundreds of thousands in some files.
NO_WORK = re.compile(
    r"(cuda|cu|hip)(\w*(GetDevice|SetDevice|GetLastError|PeekAtLastError|PeekLastError|IsCapturing|OccupancyMax"
    r"|FuncGet|FuncSet|PointerGet|GetAttribute|DeviceGet|EventQuery|CtxGet|CtxSet|PushCall|PopCall)\w*|GetProc\w*)$"
)
KNOWN_VERSION = 1
# Kept rows: they take about 0.7 GB a million, with what is made of them.
MOST_ROWS = 2_000_000
# Times that fit 64 bits, as nanoseconds; what is beyond overflowed.
MOST_NS = 2**62
# Of a list beside the events that much is kept.
MOST_DEVICES = 1024
# What newer releases write beside the events of what recorded them.
ABOUT = ("cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version", "hip_driver_version")
RECORD = (
    "record the GPU too: torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]), then"
    " export_chrome_trace"
)


def recognises(head: bytes) -> bool:
    """Whether a file that begins like this may be one: text that begins as a JSON object or list, or gzip."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return head[:2] == b"\x1f\x8b" or start in (b"{", b"[")


@dataclass
class _Found:
    """What was read so far."""

    kernels: list[Kernel] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    beside: dict[str, object] = field(default_factory=dict)
    events: int = 0
    is_trace: bool = False


def read(path: Path) -> Recording:
    """The recording in a file. Raises Unreadable: no JSON, cut off, no trace, no GPU in it, too large."""
    found = _Found()
    stream = JsonStream(path)
    try:
        _read_members(stream, found, path)
    except BrokenText as error:
        raise _broken(path, found, error) from error
    if not found.is_trace:
        names = ", ".join(map(repr, list(found.beside)[:5])) or "nothing"
        raise Unreadable(path, f"JSON, but no trace: no list of traceEvents in it (it has {names})", RECORD)
    if not found.kernels:
        raise Unreadable(path, _without_gpu(found), RECORD)
    return _recording(path, found)


def _read_members(stream: JsonStream, found: _Found, path: Path) -> None:
    """All of the file: its events into rows, what stands beside them as it is."""
    for name, value in stream.members():
        if not isinstance(value, Iterator):
            found.beside[name] = value
        elif name in ("", "traceEvents"):
            for event in value:
                _add(found, event)
                if len(found.kernels) + len(found.launches) + len(found.ranges) > MOST_ROWS:
                    raise Unreadable(path, f"more than {MOST_ROWS:,} kernels, launches and ranges", FEWER)
            found.is_trace = name == "traceEvents" or bool(found.categories)
        else:
            found.beside[name] = list(islice(value, MOST_DEVICES))
            for _ in value:
                pass


def _add(found: _Found, event: object) -> None:
    """One event of the file, into the rows it belongs to."""
    found.events += 1
    if not isinstance(event, dict):
        found.skipped["no event, but another JSON value"] += 1
        return
    category = str(event.get("cat", "")).lower()
    if event.get("ph") != "X":
        return
    found.categories[category] += 1
    is_work = category in DEVICE_WORK
    if not is_work and category not in HOST_CALLS and category not in RANGES:
        return
    name = of_letters(str(event.get("name", "")))
    if category in HOST_CALLS and NO_WORK.match(name):
        return
    times = _times(event, found)
    if times is None:
        return
    arguments = event.get("args")
    arguments = arguments if isinstance(arguments, dict) else {}
    if is_work:
        found.kernels.append(_kernel(name, DEVICE_WORK[category], event, arguments, times))
    elif category in HOST_CALLS:
        correlation = whole(arguments.get("correlation"))
        found.launches.append(Launch(name, whole(event.get("pid")), whole(event.get("tid")), *times, correlation))
    else:
        found.ranges.append(Range(name, whole(event.get("pid")), whole(event.get("tid")), *times))


def _kernel(
    name: str, activity: Activity, event: Mapping[str, object], arguments: Mapping[str, object], times: tuple[int, int]
) -> Kernel:
    device = arguments.get("device", event.get("pid"))
    stream = arguments.get("stream", event.get("tid"))
    # Node 0 is a node, too, of a graph that has a number.
    graph = any(whole(arguments.get(name)) for name in ("graph id", "graph node id"))
    return Kernel(name, activity, whole(device), whole(stream), *times, 0, whole(arguments.get("correlation")), graph)


def _times(event: Mapping[str, object], found: _Found) -> tuple[int, int] | None:
    """Start and end in ns; None, and counted, where they are none."""
    start, length = _exact(event.get("ts")), _exact(event.get("dur", 0))
    if start is None or length is None:
        found.skipped["a time that is no number"] += 1
    elif length < 0:
        found.skipped["a negative duration"] += 1
    elif length * 1000 > MOST_NS or abs(start) * 1000 > MOST_NS:
        found.skipped["a duration or time that overflowed"] += 1
    else:
        return int((start * 1000).to_integral_value()), int(((start + length) * 1000).to_integral_value())
    return None


def _exact(value: object) -> Decimal | None:
    """Microseconds as written; None for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, float) and not isfinite(value):
        return None
    try:
        exact = Decimal(value)
    except InvalidOperation:
        return None
    return exact if exact.is_finite() else None


def whole(value: object) -> int:
    """A whole number that may stand in a text, as in 'stream 7'; 0 for what has none."""
    if isinstance(value, int):
        return int(value)
    digits = re.search(r"-?\d{1,19}", str(value)) if isinstance(value, str) else None
    return int(digits[0]) if digits else 0


def _recording(path: Path, found: _Found) -> Recording:
    """The rows in order, with what is known of the devices."""
    notes = []
    version = found.beside.get("schemaVersion")
    if version is not None and version != KNOWN_VERSION:
        notes.append(f"schemaVersion is {version!s:.20}, not {KNOWN_VERSION}: read as if it were {KNOWN_VERSION}")
    kernels = sorted(found.kernels, key=lambda kernel: (kernel.start, kernel.end))
    if any(launch.name.startswith("hip") for launch in found.launches):
        kernels = _cut(kernels, found.skipped)
    in_order = tuple(kernels)
    return Recording(
        file=str(path),
        format="torch.profiler (Kineto)",
        version="" if version is None else of_letters(f"{version!s:.20}"),
        devices=devices_of(in_order, _devices(found.beside.get("deviceProperties"))),
        kernels=in_order,
        launches=tuple(sorted(found.launches, key=lambda launch: launch.start)),
        ranges=tuple(sorted(found.ranges, key=lambda one: (one.start, -one.end))),
        num_events=found.events,
        skipped=tuple(sorted(found.skipped.items())),
        notes=tuple(notes),
        rank=_counted(found, "rank"),
        world=_counted(found, "world_size"),
        about=tuple(
            (name.replace("_", " "), of_letters(f"{found.beside[name]!s:.40}"))
            for name in ABOUT
            if name in found.beside
        ),
    )


def _counted(found: _Found, name: str) -> int | None:
    """A number of what torch.distributed says of this process; None for what is no number."""
    told = found.beside.get("distributedInfo")
    value = told.get(name) if isinstance(told, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _cut(kernels: Iterable[Kernel], told: Counter[str]) -> list[Kernel]:
    """Kernels of AMD GPUs, where those of a stream never overlap: one that does ends where the next begins."""
    last: dict[tuple[int, int], int] = {}
    rows: list[Kernel] = []
    for kernel in kernels:
        before = last.get((kernel.device, kernel.stream))
        if before is not None and rows[before].end > kernel.start:
            rows[before] = rows[before]._replace(end=kernel.start)
            told["an end after the next kernel of its stream began (ROCm): cut there, not left out"] += 1
        last[kernel.device, kernel.stream] = len(rows)
        rows.append(kernel)
    return rows


def _devices(properties: object) -> dict[int, Device]:
    """Devices by number."""
    found = {}
    for one in properties if isinstance(properties, list) else ():
        if isinstance(one, dict):
            number = whole(one.get("id"))
            found[number] = Device(number, of_letters(str(one.get("name", f"GPU {number}"))), whole(one.get("numSms")))
    return found


def _without_gpu(found: _Found) -> str:
    """What a trace without kernels has."""
    most = ", ".join(f"{count:,} {name or 'unnamed'}" for name, count in found.categories.most_common(4))
    skipped = sum(found.skipped.values())
    broken = f" ({number_of(skipped, 'event')} skipped: {', '.join(found.skipped)})" if skipped else ""
    return f"a trace without kernels of a GPU: it has {most or 'no events with a duration'}{broken}"


def _broken(path: Path, found: _Found, error: BrokenText) -> Unreadable:
    """Where it breaks, and how much of it is whole."""
    if not found.events:
        return Unreadable(
            path, f"no recording that is known (as JSON, at letter {error.place + 1:,}: {error.problem})", GIVE
        )
    times = [one.start for one in found.kernels]
    until = f", {(max(times) - min(times)) / 1e6:,.1f} ms of recording" if times else ""
    return Unreadable(
        path,
        f"broken at letter {error.place + 1:,}: {error.problem}; whole up to there: "
        f"{number_of(found.events, 'event')} with {number_of(len(found.kernels), 'kernel')}{until}",
        "copy or export it again",
    )

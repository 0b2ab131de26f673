"""Recordings written as files, in the shape in which torch.profiler and `nsys export` write them."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from experiments.profile.recording import Device, Kernel, Launch, Range

NEW = {"kernel": "kernel", "copy": "gpu_memcpy", "set": "gpu_memset"} | {
    "launch": "cuda_runtime",
    "range": "user_annotation",
    "op": "cpu_op",
}
# Before 2022.
OLD = {"kernel": "Kernel", "copy": "Memcpy", "set": "Memset"} | {
    "launch": "Runtime",
    "range": "user_annotation",
    "op": "Operator",
}
H100 = Device(0, "NVIDIA H100 80GB HBM3", 132)
THREAD_BITS = 24


class Us(float):
    """Microseconds that are written with all their digits: a double has not as many."""

    def __new__(cls, ns: int) -> Us:
        made = super().__new__(cls, ns / 1000)
        made.text = f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"
        return made

    text: str

    def __repr__(self) -> str:
        return self.text


def kineto_events(
    kernels: Sequence[Kernel], launches: Sequence[Launch], ranges: Sequence[Range], names: Mapping[str, str] = NEW
) -> list[dict[str, Any]]:
    """Events of torch.profiler, with what else a file has: operators, flows, names of processes."""
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": {"name": "python"}}
    ]
    for one in ranges:
        events.append(complete(one.name, names["range"], one.process, one.thread, one.start, one.end))
    for launch in launches:
        call = complete(launch.name, names["launch"], launch.process, launch.thread, launch.start, launch.end)
        events.append(call | {"args": {"External id": 7, "cbid": 211, "correlation": launch.correlation}})
        operator = ("aten::mm", names["op"], launch.process, launch.thread)
        events.append(complete(*operator, launch.start - 100, launch.end) | {"args": {"Input Dims": [[1, 4096]]}})
        flow = {
            "ph": "s",
            "id": launch.correlation,
            "pid": launch.process,
            "tid": launch.thread,
            "ts": Us(launch.start),
        }
        events.append({"cat": "ac2g", "name": "ac2g", **flow})
    for kernel in kernels:
        arguments: dict[str, Any] = {"device": kernel.device, "context": 1, "stream": kernel.stream}
        arguments |= {"correlation": kernel.correlation, "External id": 7}
        if kernel.activity == "kernel":
            arguments |= {"registers per thread": 168, "shared memory": 49152, "grid": [132, 1, 1]}
        if kernel.graph:
            arguments |= {"graph id": 3, "graph node id": 70}
        category = names[kernel.activity]
        events.append(
            complete(kernel.name, category, kernel.device, kernel.stream, kernel.start, kernel.end)
            | {"args": arguments}
        )
    return events


def complete(name: str, category: str, process: int, thread: int, start: int, end: int) -> dict[str, Any]:
    """An event that lasts."""
    times = {"ts": Us(start), "dur": Us(end - start)}
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, **times}


def kineto_text(events: Sequence[Mapping[str, Any]], devices: Sequence[Device] = (H100,), **beside: Any) -> str:
    """The whole file; `beside`: further members of the object."""
    properties = [{"id": one.number, "name": one.name, "numSms": one.sms} for one in devices]
    whole = {"schemaVersion": 1, "deviceProperties": properties, "displayTimeUnit": "ms", **beside}
    # json writes a subclass of float by float's own repr: texts with a mark in front of them become numbers below.
    return _numbers(json.dumps({**whole, "traceEvents": _marked(list(events))}, indent=2))


def bare_text(events: Sequence[Mapping[str, Any]]) -> str:
    """The file of releases that wrote only the list."""
    return _numbers(json.dumps(_marked(list(events))))


def _marked(value: Any) -> Any:
    if isinstance(value, Us):
        return f"\x00{value.text}"
    if isinstance(value, dict):
        return {key: _marked(one) for key, one in value.items()}
    return [_marked(one) for one in value] if isinstance(value, list) else value


def _numbers(text: str) -> str:
    return re.sub(r'"\\u0000([-0-9.]+)"', r"\1", text)


def nsys_file(
    path: Path,
    kernels: Sequence[Kernel],
    launches: Sequence[Launch],
    ranges: Sequence[Range],
    devices: Sequence[Device] = (H100,),
    version: str = "",
    text_ids: bool = True,
) -> Path:
    """An export: only tables that have rows. version: '_V2' ... of the kernels' table; text_ids: NVTX by number."""
    strings: dict[str, int] = {}

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings) + 1)

    with closing(sqlite3.connect(path)) as store, store:
        common = "start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT"
        for activity, table, more in (
            ("kernel", f"KERNEL{version}", "demangledName INT, shortName INT, gridX INT, graphNodeId INT"),
            ("copy", "MEMCPY", "bytes INT, copyKind INT"),
            ("set", "MEMSET", "bytes INT"),
            ("graph", "GRAPH_TRACE", "graphId INT"),
        ):
            rows = [_activity(kernel, number) for kernel in kernels if kernel.activity == activity]
            _table(store, f"CUPTI_ACTIVITY_KIND_{table}", f"{common}, {more}", rows)
        calls = [(*_host(one), one.correlation, number(f"{one.name}_v7000")) for one in launches]
        _table(
            store,
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "start INT, end INT, globalTid INT, correlationId INT, nameId INT",
            calls,
        )
        texts = [(None, number(one.name)) if text_ids else (one.name, None) for one in ranges]
        marked = [(*_host(one), 59, *text) for one, text in zip(ranges, texts, strict=True)]
        columns = "start INT, end INT, globalTid INT, eventType INT, text TEXT, textId INT"
        _table(store, "NVTX_EVENTS", columns, marked)
        _table(store, "TARGET_INFO_GPU", "id INT, name TEXT, smCount INT", [(d.number, d.name, d.sms) for d in devices])
        _table(store, "META_DATA_EXPORT", "name TEXT, value TEXT", [("EXPORT_SCHEMA_VERSION", "3.17.2")])
        _table(store, "StringIds", "id INT, value TEXT", [(at, text) for text, at in strings.items()])
    return path


def _table(store: sqlite3.Connection, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        store.execute(f"CREATE TABLE {name} ({columns})")
        store.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def _host(one: Launch | Range) -> tuple[int, int, int]:
    return one.start, one.end, one.process << THREAD_BITS | one.thread


def _activity(kernel: Kernel, number: Any) -> tuple[Any, ...]:
    device = kernel.device, kernel.stream, kernel.correlation, kernel.process << THREAD_BITS
    row = kernel.start, kernel.end, *device
    if kernel.activity == "kernel":
        short = re.sub(r"^void |<.*|\(.*", "", kernel.name)
        return (*row, number(kernel.name), number(short), 132, 70 if kernel.graph else None)
    if kernel.activity == "copy":
        return (*row, 4096, 1 if "HtoD" in kernel.name else 2)
    return (*row, 4096 if kernel.activity == "set" else 3)

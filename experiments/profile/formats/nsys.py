"""nsys: what `nsys export --type sqlite` writes. A table or column is there only if something was recorded in it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from experiments.profile.recording import (
    Activity,
    Device,
    Kernel,
    Launch,
    Range,
    Recording,
    Unreadable,
    devices_of,
)
from patterns.plural import number_of

HEAD = b"SQLite format 3\0"
# Of each activity its table, which newer releases number (_V2, _V3).
ACTIVITIES: Mapping[str, Activity] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernel",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "copy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "set",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "graph",
}
HOST_CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
# CUPTI's numbers of the kinds of copies.
COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
KERNEL_NAMES = ("demangledName", "shortName", "mangledName")
THREAD_BITS = 24
# Of a table; see kineto.py.
MOST_ROWS = 2_000_000
RECORD = "record with: nsys profile --trace=cuda,nvtx --cuda-graph-trace=node, then nsys export --type sqlite"
FEWER = "record a part of the run (--capture-range, --duration)"


def recognises(head: bytes) -> bool:
    """Whether a file that begins like this may be one."""
    return head.startswith(HEAD)


def read(path: Path) -> Recording:
    """The recording in a file. Raises Unreadable: broken, another database, nothing of a GPU in it, too large."""
    # Immutable: a file on a read-only disk, and one that another process has open, can be read.
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as store:
            store.text_factory = lambda text: text.decode("utf-8", "replace")
            return _Export(path, store).recording()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a message of SQLite's may hold bytes of a broken file
        raise Unreadable(path, f"a broken SQLite file ({error})", "export it again") from error


class _Export:
    """The tables of an export, by the names they have in it."""

    def __init__(self, path: Path, store: sqlite3.Connection) -> None:
        self.path, self.store = path, store
        self.tables = [str(name) for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        self.skipped: dict[str, int] = {}

    def recording(self) -> Recording:
        """Everything that is read of it."""
        if not any(name.startswith(("CUPTI_", "NVTX_", "META_DATA_", "TARGET_INFO_")) for name in self.tables):
            held = ", ".join(self.tables[:5]) or "none"
            raise Unreadable(self.path, f"an SQLite file, but no export of nsys (its tables: {held})", RECORD)
        self.strings = self._strings()
        found = [kernel for table, activity in ACTIVITIES.items() for kernel in self._activities(table, activity)]
        if not found:
            raise Unreadable(self.path, "an export of nsys without kernels of a GPU", RECORD)
        kernels = tuple(sorted(found, key=lambda kernel: (kernel.start, kernel.end)))
        launches = [launch for table in HOST_CALLS for launch in self._launches(table)]
        ranges = tuple(sorted(self._ranges(), key=lambda one: (one.start, -one.end)))
        return Recording(
            file=str(self.path),
            format="nsys (SQLite export)",
            version=self._version(),
            devices=devices_of(kernels, self._devices()),
            kernels=kernels,
            launches=tuple(sorted(launches, key=lambda launch: launch.start)),
            ranges=ranges,
            num_events=len(kernels) + len(launches) + len(ranges) + sum(self.skipped.values()),
            skipped=tuple(sorted(self.skipped.items())),
            notes=self._notes(kernels),
        )

    def _table(self, name: str) -> str:
        """The newest table of a name in this file, '' if it has none."""
        versions = [table for table in self.tables if re.fullmatch(rf"{name}(_V\d+)?", table)]
        return max(versions, key=lambda table: (len(table), table), default="")

    def _rows(self, name: str, wanted: tuple[str, ...]) -> Iterator[dict[str, object]]:
        """Rows of a table as far as it has the columns; None for what it has not, and for tables without start."""
        table = self._table(name)
        if not table:
            return
        columns = {str(row[1]) for row in self.store.execute(f"PRAGMA table_info('{table}')")}
        there = [column for column in wanted if column in columns]
        if wanted[0] not in columns:
            return
        (count,) = self.store.execute(f"SELECT count(*) FROM '{table}'").fetchone()
        if count > MOST_ROWS:
            raise Unreadable(self.path, f"{count:,} rows in {table}, at most {MOST_ROWS:,} are read", FEWER)
        empty = dict.fromkeys(wanted)
        listed = ", ".join(f'"{column}"' for column in there)
        for row in self.store.execute(f"SELECT {listed} FROM '{table}'"):
            yield empty | dict(zip(there, row, strict=True))

    def _strings(self) -> dict[int, str]:
        return {_whole(row["id"]): str(row["value"]) for row in self._rows("StringIds", ("id", "value"))}

    def _named(self, row: Mapping[str, object], columns: tuple[str, ...]) -> str:
        """The first of the columns that names something, by number or as text."""
        for column in columns:
            value = row[column]
            if isinstance(value, int) and value in self.strings:
                return self.strings[value]
            if isinstance(value, str) and value:
                return value
        return ""

    def _times(self, row: Mapping[str, object]) -> tuple[int, int] | None:
        """Start and end; None, and counted, where they are none."""
        start, end = row["start"], row["end"]
        if not isinstance(start, int) or not isinstance(end, int):
            self._skip("a time that is no whole number")
        elif end < start:
            self._skip("a negative duration")
        else:
            return start, end
        return None

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _activities(self, table: str, activity: Activity) -> Iterator[Kernel]:
        wanted = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphNodeId", "copyKind")
        for row in self._rows(table, (*wanted, *KERNEL_NAMES)):
            times = self._times(row)
            if times is None:
                continue
            name = {
                "copy": f"[CUDA memcpy {COPY_KINDS.get(_whole(row['copyKind']), 'of another kind')}]",
                "set": "[CUDA memset]",
                "graph": "[a whole CUDA graph]",
                "kernel": self._named(row, KERNEL_NAMES) or "(a kernel without a name)",
            }[activity]
            device, stream, correlation = (_whole(row[key]) for key in ("deviceId", "streamId", "correlationId"))
            process = _whole(row["globalPid"]) >> THREAD_BITS
            yield Kernel(name, activity, device, stream, *times, process, correlation, bool(row["graphNodeId"]))

    def _launches(self, table: str) -> Iterator[Launch]:
        for row in self._rows(table, ("start", "end", "globalTid", "correlationId", "nameId")):
            times = self._times(row)
            if times is not None:
                name = re.sub(r"_v\d+$", "", self._named(row, ("nameId",)))
                yield Launch(name, *_process_and_thread(row["globalTid"]), *times, _whole(row["correlationId"]))

    def _ranges(self) -> Iterator[Range]:
        for row in self._rows("NVTX_EVENTS", ("start", "end", "text", "textId", "globalTid")):
            if row["end"] is None:  # a mark, or what names a thread or a domain
                continue
            times = self._times(row)
            name = self._named(row, ("text", "textId"))
            if times is not None and name:
                yield Range(name, *_process_and_thread(row["globalTid"]), *times)

    def _devices(self) -> dict[int, Device]:
        rows = self._rows("TARGET_INFO_GPU", ("id", "name", "smCount"))
        named = ((_whole(row["id"]), self._named(row, ("name",)), _whole(row["smCount"])) for row in rows)
        return {number: Device(number, name or f"GPU {number}", sms) for number, name, sms in named}

    def _version(self) -> str:
        rows = self._rows("META_DATA_EXPORT", ("name", "value"))
        return next((str(row["value"]) for row in rows if row["name"] == "EXPORT_SCHEMA_VERSION"), "")

    def _notes(self, kernels: tuple[Kernel, ...]) -> tuple[str, ...]:
        graphs = sum(kernel.activity == "graph" for kernel in kernels)
        told = f"{number_of(graphs, 'CUDA graph')} recorded as a whole, their kernels are not seen and not counted"
        return (f"{told}: record with --cuda-graph-trace=node",) if graphs else ()


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _process_and_thread(global_thread: object) -> tuple[int, int]:
    number = _whole(global_thread)
    return number >> THREAD_BITS, number & (2**THREAD_BITS - 1)

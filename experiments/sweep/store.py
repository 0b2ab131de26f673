"""The store of a sweep's rows: an SQLite file in WAL mode that one process writes. What is committed stays.

results: a row a key, so what was run once is not run again. points: of each sweep that was run into the store, its
rows in order. Metrics are real columns; what differs from sweep to sweep is JSON.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

from experiments.sweep.row import INFEASIBLE, METRICS, OK, Row
from patterns.errors import UnknownName, UserError

APPLICATION = 0x50_4C_53_57  # "PLSW", in the head of every store
VERSION = 1
BUSY_S = 5.0
# Names of files that hold rows, and none of these can be added to.
EXPORTED = (".csv", ".json", ".parquet")
IN_MEMORY = ":memory:"
MAGIC = b"SQLite format 3\x00"
_SCHEMA = f"""
CREATE TABLE results (
    key TEXT PRIMARY KEY, status TEXT NOT NULL, mode TEXT NOT NULL, bound TEXT NOT NULL,
    {", ".join(f"{name} NUMERIC" for name in METRICS)},
    message TEXT NOT NULL, resource TEXT NOT NULL, needed NUMERIC, available NUMERIC, nearest TEXT NOT NULL,
    more TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sweeps (name TEXT PRIMARY KEY, about TEXT NOT NULL, columns TEXT NOT NULL, varied TEXT NOT NULL);
CREATE TABLE points (
    sweep TEXT NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL, parameters TEXT NOT NULL,
    PRIMARY KEY (sweep, position)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""
_COLUMNS = ("status", "mode", "bound", *METRICS, "message", "resource", "needed", "available", "nearest", "more")
# SQLite's integers end at 2**63; what a hostile point asks for does not.
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Written:
    """A sweep in a store. columns: all fields of its points; varied: those that differ from point to point."""

    name: str
    about: str
    columns: tuple[str, ...]
    varied: tuple[str, ...]


class Store:
    """An open store. Every method raises UserError where the file cannot be read or written."""

    def __init__(self, path: str, connection: sqlite3.Connection, lock: IO[bytes] | None) -> None:
        self.path, self._connection, self._lock = path, connection, lock

    def statuses(self) -> dict[str, str]:
        """The status of every row there is, by key."""
        with _told(self.path):
            return dict(self._connection.execute("SELECT key, status FROM results"))

    def outdated(self, sweep: str, points: Iterable[tuple[str, dict[str, Any]]]) -> int:
        """Of points, (key, fields), how many the last run of a sweep had under other keys, with rows."""
        with _told(self.path):
            rows = self._connection.execute(
                "SELECT parameters, key FROM points JOIN results USING (key) WHERE sweep = ?", (sweep,)
            )
            had = dict(rows.fetchall())
        return sum(had.get(json.dumps(fields), key) != key for key, fields in points) if had else 0

    def dropped(self, sweep: str, points: Iterable[tuple[str, dict[str, Any]]]) -> int:
        """How many points the last run under a sweep's name had that are none of these, (key, fields)."""
        with _told(self.path):
            had = self._connection.execute("SELECT parameters FROM points WHERE sweep = ?", (sweep,)).fetchall()
        return len({parameters for (parameters,) in had} - {json.dumps(fields) for _, fields in points}) if had else 0

    def enter(self, sweep: Written, points: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Note a sweep and its points, (key, fields) in order, in the place of those of its name."""
        told = (sweep.name, sweep.about, json.dumps(sweep.columns), json.dumps(sweep.varied))
        rows = ((sweep.name, i, key, json.dumps(parameters)) for i, (key, parameters) in enumerate(points))
        with _told(self.path), self._connection:
            self._connection.execute("DELETE FROM points WHERE sweep = ?", (sweep.name,))
            self._connection.execute("INSERT OR REPLACE INTO sweeps VALUES (?, ?, ?, ?)", told)
            self._connection.executemany("INSERT INTO points VALUES (?, ?, ?, ?)", rows)

    def add(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Put rows in, all of them or none."""
        marks = ", ".join("?" * (1 + len(_COLUMNS)))
        with _told(self.path), self._connection:
            statement = f"INSERT OR REPLACE INTO results (key, {', '.join(_COLUMNS)}) VALUES ({marks})"
            self._connection.executemany(statement, (_record(key, row) for key, row in rows))

    def sweeps(self) -> tuple[str, ...]:
        """Names of the sweeps in it."""
        with _told(self.path):
            return tuple(name for (name,) in self._connection.execute("SELECT name FROM sweeps ORDER BY name"))

    def sweep(self, name: str) -> Written:
        """A sweep in it. Raises UnknownName."""
        with _told(self.path):
            found = self._connection.execute("SELECT * FROM sweeps WHERE name = ?", (name,)).fetchone()
        if found is None:
            raise UnknownName("sweep", name, self.sweeps())
        return Written(found[0], found[1], tuple(json.loads(found[2])), tuple(json.loads(found[3])))

    def rows(self, name: str) -> Iterator[tuple[dict[str, Any], Row | None]]:
        """Fields and row of every point of a sweep, in order; None of a point that was not run."""
        columns = ", ".join(f"results.{column}" for column in _COLUMNS)
        with _told(self.path):
            found = self._connection.execute(
                f"SELECT parameters, {columns} FROM points LEFT JOIN results USING (key) "
                "WHERE sweep = ? ORDER BY position",
                (name,),
            )
            for parameters, *values in found:
                yield json.loads(parameters), _row(values) if values[0] is not None else None

    def close(self) -> None:
        """Leave the file whole and free. What was written to lies in one file then, which can be read and copied."""
        if self._lock is not None:
            with suppress(sqlite3.Error):  # somebody reads: the log stays beside it
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()
        if self._lock is not None:
            self._lock.close()


def _record(key: str, row: Row) -> tuple[Any, ...]:
    plain = {field.name: getattr(row, field.name) for field in fields(Row)}
    plain |= dict(zip(METRICS, row.metrics, strict=True)) | {"more": json.dumps(row.more)}
    values = (plain[name] for name in _COLUMNS)
    return (key, *(float(v) if isinstance(v, int) and v > _LARGEST else v for v in values))


def _row(values: Sequence[Any]) -> Row:
    plain = dict(zip(_COLUMNS, values, strict=True))
    metrics = tuple(plain.pop(name) for name in METRICS)
    more = tuple((name, value) for name, value in json.loads(plain.pop("more")))
    return Row(**plain, metrics=metrics, more=more)


@contextmanager
def opened(path: str | None, *, write: bool = True) -> Iterator[Store]:
    """A store, made if there is none; None: one in memory. With write, nobody else may write to it meanwhile.

    Raises UserError: a folder, no store, one of another version, damaged, in use, not to be written.
    """
    lock = None if path is None else _checked(Path(path), write)
    try:
        with _told(path or IN_MEMORY):
            store = Store(path or IN_MEMORY, _connected(path, write), lock)
        try:
            yield store
        finally:
            store.close()
    finally:
        if lock is not None:
            lock.close()


def _checked(path: Path, write: bool) -> IO[bytes] | None:
    """What holds a store for its only writer; it is made if need be. Raises UserError for a file that is none."""
    from experiments.output import check_writable

    if write:
        if path.suffix in EXPORTED:
            raise UserError(
                f"{path}: a store is an SQLite file; `patternloom results STORE -o {path}` writes its rows there"
            )
        check_writable(path, folder=False)
    try:
        if not path.is_file() and (path.exists() or not write):
            raise UserError(
                f"{path} is {'a folder' if path.is_dir() else 'no file'}"
                if path.exists()
                else f"there is no store {path}"
            )
        if path.exists() and (head := _head(path)) and head != MAGIC:
            raise UserError(f"{path} is no store of results: no SQLite file. It is left as it is; name another file")
        return _locked(path) if write else None
    except OSError as error:
        raise UserError(f"cannot open the store {path}: {(error.strerror or str(error)).lower()}") from None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(MAGIC))


def _locked(path: Path) -> IO[bytes]:
    """The file, held until it is closed or its process ends. Raises UserError where another process holds it."""
    import fcntl

    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise UserError(
            f"the store {path} is in use: another sweep writes to it; wait for it or name another"
        ) from None
    return file


def _connected(path: str | None, write: bool) -> sqlite3.Connection:
    """A checked connection. Raises sqlite3.Error, UserError."""
    where = IN_MEMORY if path is None else f"{Path(path).resolve().as_uri()}?mode={'rwc' if write else 'ro'}"
    connection = sqlite3.connect(where, timeout=BUSY_S, uri=path is not None)
    try:
        _need_ours(path or IN_MEMORY, connection)
        if write:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _need_ours(path: str, connection: sqlite3.Connection) -> None:
    """Make the tables of an empty file. Raises UserError for a file of another program or version, or a damaged one."""
    ((application,), (version,)) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,) and not application:
        connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        return
    if application != APPLICATION:
        raise UserError(f"{path} is an SQLite file of another program. It is left as it is; name another file")
    if version != VERSION:
        raise UserError(
            f"the store {path} is of version {version}, and this release reads version {VERSION}: export it with the "
            "release that made it, or name another file"
        )
    ((found,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise sqlite3.DatabaseError(str(found).replace("\n", " "))


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Raises UserError for what SQLite raises, saying what became of the rows."""
    try:
        yield
    except sqlite3.Error as error:
        raise UserError(f"the store {path} {_why(str(error))}") from None


def _why(said: str) -> str:
    """SQLite's words as what can be done about it."""
    kept = "the rows so far are kept, and running it again goes on"
    if "locked" in said or "busy" in said:
        return f"is locked by another program ({said}); {kept}"
    if "readonly" in said or "read-only" in said:
        return f"cannot be written ({said})"
    if "unable to open" in said:
        return f"cannot be opened ({said})"
    if "full" in said or "disk I/O" in said:
        return f"cannot grow: no room, or the disk failed ({said}); {kept}"
    return f"is damaged ({said}); move it away, or bring back a copy"


def only_sweep(store: Store) -> str:
    """The name of the only sweep in a store. Raises UserError where there are several, or none."""
    found = store.sweeps()
    if len(found) != 1:
        what = f"has several sweeps: name one with --sweep: {', '.join(found)}" if found else "has no sweep yet"
        raise UserError(f"the store {store.path} {what}")
    return found[0]


def counted_statuses(statuses: Iterable[str]) -> dict[str, int]:
    """How many rows have each status: ok and infeasible first."""
    found = list(statuses)
    return {name: found.count(name) for name in dict.fromkeys((OK, INFEASIBLE, *sorted(set(found)))) if name in found}

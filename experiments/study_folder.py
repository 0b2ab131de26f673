"""A study's folder: written with a record of what made it, by which a later run sees that it need not be made again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.output import check_writable, write_file, write_folder
from patterns.errors import UserError

if TYPE_CHECKING:
    from experiments.study import Result

# Written last: where it is and fits, everything else is there.
RECORD = "made.json"
# Files that every study writes, or one of its sorts; they are replaced, and what else is in the folder stays.
WRITTEN = (
    "page.txt",
    "page.html",
    "configuration.json",
    "table.csv",
    "table.json",
    "reports.csv",
    "reports.json",
    "report.html",
    RECORD,
)
# What the files of a study follow from, beside the models: everything in experiments/ but other studies and commands.
_APART = ("studies", "commands")
_SUFFIXES = (".py", ".yaml", ".json", ".mplstyle", ".html", ".css", ".js")
# A study that another file takes something from counts with that file.
_TAKEN = re.compile(rb"experiments\.studies\.(\w+) import")


def check_folder(folder: Path) -> None:
    """Refuse a folder that a study cannot be written to, before it is run. Raises UserError; makes nothing."""
    check_writable(folder, folder=True)
    for name in WRITTEN:
        if (folder / name).is_dir():
            raise UserError(f"cannot write {folder / name}: it is a folder")


def write_study(folder: Path, name: str, result: Result) -> tuple[Path, ...]:
    """Write a study's files, and when all are there the record of them. Returns the files. Raises UserError."""
    written = write_folder(folder, dict(result.files))
    made = {
        "study": name,
        "version": study_version(name),
        "finding": result.finding,
        "files": {file: sha256(content).hexdigest() for file, content in result.files},
    }
    write_file(folder / RECORD, (json.dumps(made, indent=2) + "\n").encode())
    return written


def made_before(folder: Path, name: str) -> str | None:
    """What a study found that is there whole, by the same study and models; None where it must be run."""
    made = _record(folder / RECORD)
    if not isinstance(made, dict) or (made.get("study"), made.get("version")) != (name, study_version(name)):
        return None
    listed, finding = made.get("files"), made.get("finding")
    if not isinstance(listed, dict) or not listed or not isinstance(finding, str):
        return None
    return finding if all(_digest(folder / file) == digest for file, digest in listed.items()) else None


def _record(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _digest(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def study_version(name: str) -> str:
    """A digest of the models, of the study's own file, and of what runs and draws it."""
    return sha256(f"{_shared_version()}\0".encode() + _with_taken(_source(name))).hexdigest()


@lru_cache
def _shared_version() -> str:
    from experiments.sweep.identity import model_version

    digest = sha256(model_version().encode())
    for place, content in _contents(files("experiments"), ""):
        digest.update(f"{place}\0".encode() + sha256(_with_taken(content)).digest())
    return digest.hexdigest()


def _with_taken(content: bytes) -> bytes:
    """A file, and the studies that it takes something from."""
    return b"\0".join((content, *(_source(name.decode()) for name in _TAKEN.findall(content))))


def _source(study: str) -> bytes:
    own = files("experiments.studies").joinpath(f"{study}.py")
    return own.read_bytes() if own.is_file() else b""


def _contents(folder: Traversable, above: str) -> Iterator[tuple[str, bytes]]:
    """Path and content of every file that counts, in the order of their names."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        place = f"{above}{entry.name}"
        if entry.is_dir():
            if place not in _APART:
                yield from _contents(entry, f"{place}/")
        elif place.endswith(_SUFFIXES):
            yield place, entry.read_bytes()

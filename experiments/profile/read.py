"""A recording from a file, whatever wrote it: each file in formats/ says which contents it recognises."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, cast

from experiments.profile.recording import GIVE, Recording, Unreadable
from experiments.profile.unpacked import GZIP, BrokenPack, pieces
from patterns.documents.foreign_bytes import foreign
from patterns.plugin import load_module, modules

FORMATS = "experiments.profile.formats"
HEAD_BYTES = 4096
SQLITE = b"SQLite format 3"


class Format(Protocol):
    """What a file in formats/ has. A file is read by the first format, in order of names, that recognises it."""

    def recognises(self, head: bytes) -> bool:
        """Whether a file whose first bytes these are may be of this format."""

    def read(self, path: Path) -> Recording:
        """The recording in such a file. Raises Unreadable."""


def read_recording(path: Path) -> Recording:
    """The recording in a file. Raises Unreadable."""
    return reader_of(path).read(path)


def reader_of(path: Path) -> Format:
    """What reads a file; its format is told by its first bytes. Raises Unreadable."""
    if path.is_dir():
        files = sorted(one.name for one in path.iterdir() if one.suffix in (".json", ".gz", ".sqlite"))
        held = f"; in it: {', '.join(files[:4])}" if files else ""
        raise Unreadable(path, f"a folder, a file is due{held}", "" if files else GIVE)
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise Unreadable(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    if not head:
        raise Unreadable(path, "empty", GIVE)
    inside = first_unpacked(path) if head.startswith(GZIP) else head
    if inside is not head and inside.startswith(SQLITE):
        raise Unreadable(path, "an export of nsys, packed with gzip", "unpack it first: gunzip")
    for name in modules(FORMATS):
        reader = cast(Format, load_module(FORMATS, name, "trace format"))
        if reader.recognises(head) and not foreign(inside)[0]:
            return reader
    raise Unreadable(path, *told_apart(head, inside))


def first_unpacked(path: Path) -> bytes:
    """The first bytes of what a gzip file holds; b'' where it is broken: reading it tells of that."""
    try:
        return next(pieces(path), b"")[:HEAD_BYTES]
    except (BrokenPack, OSError):
        return b""


def told_apart(head: bytes, inside: bytes) -> tuple[str, str]:
    """What a file is that people give by mistake, and what to do with it. inside: what is packed in it."""
    if head.startswith(b"NVIDIA"):
        return "no recording that is known", "a report of nsys? export it first: nsys export --type sqlite"
    what, remedy = foreign(inside)
    if not what:
        return "no recording that is known", GIVE
    if inside is head:
        return f"{what}, no recording", remedy
    if what == foreign(head)[0]:
        return "packed with gzip twice", "unpack it once: gunzip"
    return f"{what} in a gzip file, no recording", f"gunzip it, then {remedy}"

"""A recording from a file, whatever wrote it: each file in formats/ says which contents it recognises."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, cast

from experiments.profile.recording import GIVE, Recording, Unreadable
from patterns.plugin import load_module, modules

FORMATS = "experiments.profile.formats"
HEAD_BYTES = 4096


class Format(Protocol):
    """What a file in formats/ has. A file is read by the first format, in order of names, that recognises it."""

    def recognises(self, head: bytes) -> bool:
        """Whether a file whose first bytes these are may be of this format."""

    def read(self, path: Path) -> Recording:
        """The recording in such a file. Raises Unreadable."""


def read_recording(path: Path) -> Recording:
    """The recording in a file; its format is told by its content. Raises Unreadable."""
    if path.is_dir():
        inside = sorted(one.name for one in path.iterdir() if one.suffix in (".json", ".gz", ".sqlite"))
        held = f"; in it: {', '.join(inside[:4])}" if inside else ""
        raise Unreadable(path, f"a folder, a file is due{held}", "" if inside else GIVE)
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise Unreadable(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    if not head:
        raise Unreadable(path, "empty", GIVE)
    for name in modules(FORMATS):
        reader = cast(Format, load_module(FORMATS, name, "trace format"))
        if reader.recognises(head):
            return reader.read(path)
    raise Unreadable(path, "no recording that is known", told_apart(head) or GIVE)


def told_apart(head: bytes) -> str:
    """What a file is that people give by mistake, and what to do with it; '' for others."""
    if head.startswith(b"NVIDIA"):
        return "a report of nsys? export it first: nsys export --type sqlite"
    if head.startswith(b"PK\x03\x04"):
        return "it is a zip archive: unpack it first"
    return ""

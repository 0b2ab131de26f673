"""What a workload is read from: a digest of every file of it, so that results of a changed file are never taken."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from importlib.resources.abc import Traversable
from pathlib import Path

from patterns.errors import UserError
from patterns.graph_file.compose import found_at
from patterns.importer import Source, importer_of
from patterns.library import GRAPH_SUFFIXES, need_file
from patterns.library import names as workload_names
from patterns.load import Document, load_text


def workload_digest(name_or_path: str) -> str:
    """The digest of all files that a workload of the user's is read from, '' for one that has a name of ours.

    Raises UserError where the file itself is not there.
    """
    if name_or_path in workload_names():
        return ""
    need_file(Path(name_or_path), name_or_path)
    seen: dict[str, bytes] = {}
    waiting: list[Path | Traversable] = [Path(name_or_path)]
    while waiting:
        file = waiting.pop()
        if str(file) not in seen:
            content = _content(file)
            seen[str(file)] = sha256(content).digest()
            waiting += _used(content, str(file))
    return sha256(b"".join(seen.values())).hexdigest()


def _content(file: Source) -> bytes:
    """What a graph follows from in a file, and in those beside it that an importer reads with it."""
    importer = None if str(file).endswith(GRAPH_SUFFIXES) else importer_of(str(file))
    read_of: Callable[[Source], bytes] | None = getattr(importer, "read_of", None)
    try:
        return read_of(file) if read_of else file.read_bytes()
    except (OSError, UserError) as error:
        return str(error).encode()  # what is not there or wrong: reading the graph tells of it


def _used(content: bytes, file: str) -> list[Path | Traversable]:
    """Files that a graph file uses, none of what cannot be read: reading the graph tells of that."""
    if not file.endswith(GRAPH_SUFFIXES):
        return []
    try:
        document = load_text(content.decode("utf-8-sig"), file)
    except (UserError, UnicodeDecodeError):
        return []
    return [found for target in _targets(document) if isinstance(found := found_at(target, document), Path)]


def _targets(document: Document) -> list[str]:
    blocks = document.value(("blocks",)) if isinstance(document.data, dict) and "blocks" in document.data else {}
    entries = blocks.values() if isinstance(blocks, dict) else ()
    return [str(entry["use"]) for entry in entries if isinstance(entry, dict) and "use" in entry]

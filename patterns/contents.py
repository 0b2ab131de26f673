"""What a workload is read from: a digest of every file of it, so that results of a changed file are never taken."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources.abc import Traversable
from pathlib import Path

from patterns.compose import found_at
from patterns.errors import UserError
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
            seen[str(file)] = content = _content(file)
            waiting += _used(content, str(file))
    digest = sha256()
    for content in seen.values():
        digest.update(sha256(content).digest())
    return digest.hexdigest()


def _content(file: Path | Traversable) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # a file that is used and is not there: reading the graph tells of it


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

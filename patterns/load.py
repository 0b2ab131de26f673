"""Text to checked data, never guessing: strict YAML with the line and column of everything.

A Document is plain data (dict, list, str, int, float, bool) and where each value and key is written. `validate` checks
it against a pydantic model and reports every mistake of the file at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, TypeVar

from patterns.documents.foreign_bytes import foreign
from patterns.documents.yaml_tree import Mark, Path, Tree, path_text, read_tree
from patterns.errors import Mistake, SpecError, UserError

if TYPE_CHECKING:
    from pydantic import BaseModel

    Model = TypeVar("Model", bound=BaseModel)

MAX_BYTES = 2**20


@dataclass(frozen=True)
class Document:
    """The data of one file. where: mark of each value by path; keys: mark of the key that a value stands under.

    mistakes: what is wrong already (repeated keys, empty values, tags). Whoever uses the data reports them first:
    `validate` and `refuse` do. within: where in the file the data is, for a document that is a part of another.
    """

    file: str
    data: object
    where: Mapping[Path, Mark]
    keys: Mapping[Path, Mark]
    mistakes: tuple[Mistake, ...] = ()
    within: Path = ()

    def part(self, key: str) -> Document:
        """The document of what stands under a key of the top level, with its places in the same file."""
        data: object = self.value((key,))
        where = {path[1:]: mark for path, mark in self.where.items() if path[:1] == (key,)}
        keys = {path[1:]: mark for path, mark in self.keys.items() if path[:1] == (key,) and len(path) > 1}
        return replace(self, data=data, where={(): self.where[()], **where}, keys=keys, within=(*self.within, key))

    def at(self, path: Path, message: str) -> Mistake:
        """A mistake at a value."""
        return self._mistake(self.where[self._nearest(path)], path, message)

    def at_key(self, path: Path, message: str) -> Mistake:
        """A mistake at the key that a value stands under."""
        return self._mistake(self.keys.get(path) or self.where[self._nearest(path)], path, message)

    def inside(self, path: Path, offset: int, message: str) -> Mistake:
        """A mistake `offset` characters into a scalar that is text."""
        mark = self.where[self._nearest(path)]
        shift = offset + mark.quoted if "\n" not in mark.text else 0
        return self._mistake(Mark(mark.line, mark.column + shift), path, message)

    def written(self, path: Path) -> str:
        """A value as the file has it."""
        mark = self.where.get(path)
        return mark.text if mark and mark.text else str(self.value(path))

    def value(self, path: Path) -> object:
        """The value at a path."""
        value = self.data
        for part in path:
            value = value[part] if isinstance(value, dict | list) else None  # type: ignore[index]
        return value

    def refuse(self, mistakes: list[Mistake]) -> None:
        """Raises SpecError if there are mistakes, with those known before; of two at one place, the earlier."""
        known = {(mistake.line, mistake.column) for mistake in self.mistakes}
        others = [m for m in mistakes if m.file != self.file or (m.line, m.column) not in known]
        if self.mistakes or others:
            raise SpecError([*self.mistakes, *others])

    def _nearest(self, path: Path) -> Path:
        while path not in self.where:
            path = path[:-1]
        return path

    def _mistake(self, mark: Mark, path: Path, message: str) -> Mistake:
        return Mistake(self.file, mark.line, mark.column, path_text((*self.within, *path)), message)


def load_text(text: str, file: str) -> Document:
    """The document of a text; `file` is its name in messages. Raises SpecError if it cannot be read at all."""
    # A character is at least a byte, so this bounds the work before it is encoded.
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise SpecError([Mistake(file, 1, 1, "", f"larger than {MAX_BYTES:,} bytes")])
    root, mistakes = read_tree(text, file)
    where: dict[Path, Mark] = {}
    keys: dict[Path, Mark] = {}
    return Document(file, _plain(root, (), where, keys), where, keys, mistakes)


def load_file(file: FilePath | Traversable) -> Document:
    """The document of a file. Raises UserError if there is no such file, SpecError if it cannot be read."""
    return load_text(read_text(file), str(file))


def read_text(file: FilePath | Traversable) -> str:
    """The text of a file, at most 1 MiB of UTF-8. Raises UserError."""
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        raise SpecError([Mistake(str(file), 1, 1, "", f"larger than {MAX_BYTES:,} bytes")])
    what, remedy = foreign(content)
    if what:
        raise SpecError([Mistake(str(file), 1, 1, "", f"not UTF-8 text, but {what}; {remedy}")])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise SpecError([Mistake(str(file), line, column, "", "not UTF-8 text; save it as UTF-8")]) from None


def validate(model: type[Model], document: Document) -> Model:
    """The document as a pydantic model. Raises SpecError with every mistake of the file.

    Top-level keys that start with `x-` are left out: they are a place for anchors.
    """
    from patterns.documents.wording import checked

    return checked(model, document)


def found(value: object, mark: Mark | None) -> str:
    """What is there, in words, for messages that say what was due instead."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        written = f" (written {mark.text})" if mark and mark.text not in ("", str(value)) else ""
        return f"the number {value}{written}"
    if isinstance(value, str):
        return f"the text {value if len(value) <= 60 else value[:57] + '...'!r}"
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else "nothing"


def _plain(tree: Tree, path: Path, where: dict[Path, Mark], keys: dict[Path, Mark]) -> object:
    where[path] = tree.mark
    if isinstance(tree.value, dict):
        entries = {}
        for key, (mark, child) in tree.value.items():
            below = (*path, key)
            keys[below] = mark
            entries[key] = _plain(child, below, where, keys)
        return entries
    if isinstance(tree.value, tuple):
        return [_plain(child, (*path, index), where, keys) for index, child in enumerate(tree.value)]
    return tree.value

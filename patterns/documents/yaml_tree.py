"""YAML text to a tree of values with positions, from parser events, within fixed bounds.

PyYAML's own loaders keep the last of two equal keys, read `no` as false and expand aliases without end; so only its
events are used. Anchors, aliases and merge keys work; what they expand to is counted before anything is copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

import yaml

from patterns.documents.scalars import Scalar, plain_scalar
from patterns.errors import Mistake, SpecError

Path = tuple[str | int, ...]
Mapped = dict[str, tuple["Mark", "Tree"]]
Value = Union[Scalar, "tuple[Tree, ...]", Mapped]

MAX_NODES = 100_000
MAX_DEPTH = 64

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_TOO_LARGE = f"more than {MAX_NODES:,} values once aliases are expanded"
_YAML_TAG = "tag:yaml.org,2002:"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Mark:
    """Where something is written (line and column count from 1), and a scalar's own text ('' for the others)."""

    line: int
    column: int
    text: str = ""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """A value with its mark. size: values in it, aliases expanded. height: levels below it."""

    mark: Mark
    value: Value
    size: int = 1
    height: int = 0


def path_text(path: Path) -> str:
    """`nodes.q.reads.0`: a path as messages show it."""
    return ".".join(str(part) for part in path)


@dataclass
class _Reader:
    """One pass over the events of a text. Mistakes that leave the rest readable are collected, others raised."""

    file: str
    text: str
    mistakes: list[Mistake] = field(default_factory=list)
    anchors: dict[str, Tree | None] = field(default_factory=dict)
    path: list[str | int] = field(default_factory=list)
    spent: int = 0

    def __post_init__(self) -> None:
        try:
            self.loader = _LOADER(self.text)
        except (yaml.YAMLError, UnicodeError) as error:
            raise self.not_yaml(error) from None

    def event(self) -> Any:
        """The next event. Raises SpecError where the text is not YAML."""
        try:
            return self.loader.get_event()
        except yaml.YAMLError as error:
            raise self.not_yaml(error) from None

    def mistake(self, mark: Mark, message: str) -> Mistake:
        return Mistake(self.file, mark.line, mark.column, path_text(tuple(self.path)), message)

    def note(self, mark: Mark, message: str) -> None:
        self.mistakes.append(self.mistake(mark, message))

    def stop(self, mark: Mark, message: str) -> SpecError:
        """The error for a mistake after which nothing can be read."""
        return SpecError([*self.mistakes, self.mistake(mark, message)])

    def not_yaml(self, error: Exception) -> SpecError:
        return self.stop(_error_mark(error, self.text), _error_message(error))

    def document(self) -> Tree:
        """The one document of the text."""
        self.event()
        start = self.event()
        if isinstance(start, yaml.StreamEndEvent):
            raise self.stop(Mark(1, 1), "the file is empty")
        root = self.tree(self.event(), 0)
        if root.value is None:
            raise self.stop(Mark(1, 1), "the file is empty")
        self.event()
        following = self.event()
        if not isinstance(following, yaml.StreamEndEvent):
            raise self.stop(_mark(following), "a second document starts here; a file has one")
        return root

    def tree(self, event: Any, depth: int) -> Tree:
        """The value that starts with `event`."""
        mark = _mark(event)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event.anchor, mark, depth)
        self.spend(mark, 1, depth)
        if event.tag is not None:
            self.note(mark, f"tags are not read: {event.tag.replace(_YAML_TAG, '!!')}; write the plain value")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            found = Tree(mark, self.scalar(event, mark))
        elif isinstance(event, yaml.SequenceStartEvent):
            found = self.sequence(mark, depth)
        else:
            found = self.mapping(mark, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = found
        return found

    def spend(self, mark: Mark, size: int, depth: int) -> None:
        self.spent += size
        if self.spent > MAX_NODES:
            raise self.stop(mark, _TOO_LARGE)
        if depth > MAX_DEPTH:
            raise self.stop(mark, _TOO_DEEP)

    def alias(self, name: Any, mark: Mark, depth: int) -> Tree:
        if name not in self.anchors:
            raise self.stop(mark, f"no anchor &{name} above *{name}")
        target = self.anchors[name]
        if target is None:
            raise self.stop(mark, f"*{name} is inside its own anchor &{name}: it would never end")
        self.spend(mark, target.size, depth + target.height)
        # A position inside text can only be shown where the text is; everything else is shown where it is used.
        shown = target.mark if isinstance(target.value, str) else Mark(mark.line, mark.column, target.mark.text)
        return Tree(shown, target.value, target.size, target.height)

    def scalar(self, event: Any, mark: Mark) -> Scalar:
        if not event.implicit[0]:
            return str(event.value)
        try:
            return plain_scalar(event.value)
        except ValueError as error:
            self.note(mark, str(error))
            return 0

    def sequence(self, mark: Mark, depth: int) -> Tree:
        items: list[Tree] = []
        while not isinstance(event := self.event(), yaml.SequenceEndEvent):
            self.path.append(len(items))
            items.append(self.filled(self.tree(event, depth + 1)))
            self.path.pop()
        return _sized(mark, tuple(items), items)

    def mapping(self, mark: Mark, depth: int) -> Tree:
        own: Mapped = {}
        merged: list[tuple[Mark, Tree]] = []
        while not isinstance(event := self.event(), yaml.MappingEndEvent):
            key, key_mark, merges = self.key(event)
            self.path.append(key)
            value = self.tree(self.event(), depth + 1)
            if merges:
                merged.append((key_mark, value))
            elif key in own:
                self.note(key_mark, f"repeated key {key!r}, {_both_lines(own[key][0], key_mark)}; keep one")
            else:
                own[key] = (key_mark, self.filled(value))
            self.path.pop()
        entries = self.with_merged(own, merged)
        return _sized(mark, entries, [tree for _, tree in entries.values()])

    def key(self, event: Any) -> tuple[str, Mark, bool]:
        """A key as text, its mark, and whether it is the merge key."""
        mark = _mark(event)
        if not isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
            raise self.stop(mark, "a key is a word, not a list or a mapping")
        value = self.tree(event, 0).value
        if isinstance(value, tuple | dict):
            raise self.stop(mark, "a key is a word, not an alias of a list or a mapping")
        if not isinstance(value, str):
            self.note(mark, f"a key is a word; {mark.text!r} reads as {_SCALAR_WORDS[type(value)]}: rename it")
        merges = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and not mark.quoted
        return value if isinstance(value, str) else mark.text or str(value), mark, merges

    def filled(self, tree: Tree) -> Tree:
        if tree.value is None:
            hint = "a space after its colon" if ":" in str(self.path[-1]) else "a value or leave it out"
            self.note(tree.mark, f"empty; give it {hint}")
        return tree

    def with_merged(self, own: Mapped, merged: list[tuple[Mark, Tree]]) -> Mapped:
        """A mapping's own entries, which win, and those that `<<` brings in; of several, the first wins."""
        if len(merged) > 1:
            lines = _both_lines(merged[0][0], merged[1][0])
            self.note(merged[1][0], f"repeated key '<<', {lines}; write <<: [*a, *b] to merge several")
        entries = dict(own)
        for mark, tree in merged[:1]:
            sources = tree.value if isinstance(tree.value, tuple) else (tree,)
            for source in sources:
                if isinstance(source.value, dict):
                    entries = {**source.value, **entries}
                else:
                    self.note(mark, "<< merges a mapping or a list of mappings, as in <<: *name")
        return {**{key: entries[key] for key in own}, **entries}


_SCALAR_WORDS = {type(None): "nothing", bool: "true or false", int: "a number", float: "a number", str: "text"}


def _sized(mark: Mark, value: Value, children: list[Tree]) -> Tree:
    size = 1 + sum(child.size for child in children)
    height = 1 + max((child.height for child in children), default=-1)
    return Tree(mark, value, size, height)


def _both_lines(first: Mark, second: Mark) -> str:
    return f"on lines {first.line} and {second.line}" if first.line != second.line else f"twice on line {first.line}"


def _mark(event: Any) -> Mark:
    line, column = event.start_mark.line + 1, event.start_mark.column + 1
    if not isinstance(event, yaml.ScalarEvent):
        return Mark(line, column)
    return Mark(line, column, event.value, quoted=not event.implicit[0])


def _error_mark(error: Exception, text: str) -> Mark:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        return Mark(mark.line + 1, mark.column + 1)
    before = text[: max(getattr(error, "position", getattr(error, "start", 0)), 0)]
    return Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))


def _error_message(error: Exception) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    if "nesting depth" in problem:
        return _TOO_DEEP
    if "cannot start any token" in problem:
        return "not YAML: this character cannot start a value; indent with spaces (no tabs), quote special characters"
    context, start = getattr(error, "context", None), getattr(error, "context_mark", None)
    begun = f" (begun on line {start.line + 1})" if start else ""
    hint = "; are these lines indented alike?" if "block mapping" in (context or "") else ""
    return f"not YAML: {problem}{f' {context}{begun}' if context else ''}{hint}"


def read_tree(text: str, file: str) -> tuple[Tree, tuple[Mistake, ...]]:
    """The tree of a text, and the mistakes that leave it readable. Raises SpecError for the others."""
    reader = _Reader(file, text)
    root = reader.document()
    return root, tuple(reader.mistakes)

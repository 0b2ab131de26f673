"""Machine files: each parameter is `{value: ..., source: ...}`, read into a flat frozen dataclass.

A field's unit follows from its name (units.py), its range too:
rates, clocks, sizes in bytes and plain counts are greater than 0; costs (cycles, s, ps, joules, watts) are at least 0;
names that end in `_efficiency`, `_fraction` or `_share` are greater than 0 and at most 1. A dataclass field with
`metadata={"zero": True}` may be 0 where its name alone says otherwise. `like: NAME` at the top takes what a file leaves
out from another machine's file, with its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, replace
from functools import cached_property
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, get_type_hints

from patterns.documents.parameter_values import Reading
from patterns.documents.yaml_tree import Path as DataPath
from patterns.errors import Mistake, UnknownName, UserError, did_you_mean
from patterns.load import Document, load_file, load_text

COMMAND_LINE = "set on the command line"
# A machine's own name is in its file, and is none of its parameters.
OWN_NAME = "name"
_KEYS = ("value", "source", "note", "alternatives")
_LIKE = "like"


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Values = TypeVar("Values", bound=_Dataclass)


@dataclass(frozen=True)
class Published:
    """One value that somebody published: as read, as it is written in the file, and where it is from."""

    value: object
    written: str
    source: str
    note: str = ""


@dataclass(frozen=True)
class Origin:
    """Where a field's value is from; `alternatives` are other published values, which are not used."""

    field: str
    used: Published
    alternatives: tuple[Published, ...] = ()


@dataclass(frozen=True)
class Parameters(Generic[Values]):
    """A machine's numbers, and where each is from, in the order of the dataclass."""

    values: Values
    origins: tuple[Origin, ...]

    @cached_property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """(field, source) of every field."""
        return tuple((origin.field, origin.used.source) for origin in self.origins)


def _no_hint(name: str) -> str:
    return ""


def _no_mistakes(values: Any) -> Iterable[tuple[str, str]]:
    return ()


@dataclass(frozen=True)
class Rules:
    """What a family of machines adds to the rules of their files.

    file_of: the file of the machine that `like` names; without it, files name none. hint: what is said of an unknown
    parameter beside its name. contradictions: (field, message) for values of a file that cannot all be true; values
    that are set on the command line are not checked, because they ask what would be. impossible: the same for values
    of which nothing could come, wherever they are from.
    """

    file_of: Callable[[str], Path | Traversable] | None = None
    hint: Callable[[str], str] = _no_hint
    contradictions: Callable[[Any], Iterable[tuple[str, str]]] = _no_mistakes
    impossible: Callable[[Any], Iterable[tuple[str, str]]] = _no_mistakes


NO_RULES = Rules()


def read_parameters(
    file: Path | Traversable,
    cls: type[Values],
    overrides: Mapping[str, str] | None = None,
    rules: Rules = NO_RULES,
) -> Parameters[Values]:
    """The parameters in a file as an instance of `cls`, a flat frozen dataclass.

    Fields are int, float, str, bool, Literal, a tuple of these, or a tuple of (name, value) pairs, which files write
    as a mapping. A field with a default may be left out. overrides: value by field name, as text with its unit.
    Raises SpecError with every mistake of the file, UnknownName for an override of no field.
    """
    document, taken = _with_base(load_file(file), cls, rules)
    known = {field.name: field for field in fields(cls)}
    for name in overrides or {}:
        if name not in parameter_names(cls):
            raise UnknownName("parameter", name, parameter_names(cls))
    mistakes = [
        document.at_key((name,), f"unknown parameter {name!r}{did_you_mean(name, known)}{rules.hint(name)}")
        for name in (document.data if isinstance(document.data, dict) else ())
        if name not in known
    ]
    origins = _origins(document, cls, known, mistakes, taken)
    document.refuse(mistakes)
    in_file = cls(**{name: origin.used.value for name, origin in origins.items()})
    wrong = (*rules.contradictions(in_file), *rules.impossible(in_file))
    document.refuse([document.at((name, "value"), message) for name, message in wrong])
    for name, text in (overrides or {}).items():
        origins[name] = Origin(name, _overridden(cls, known[name], str(text)))
    in_order = tuple(origins[name] for name in known)
    values = cls(**{origin.field: origin.used.value for origin in in_order})
    if mistaken := [f"{name}: {message}" for name, message in rules.impossible(values)]:
        raise UserError(f"--set {'; '.join(mistaken)}")
    return Parameters(values, in_order)


def parameter_names(machine: Any) -> tuple[str, ...]:
    """Names of the parameters of a machine, or of its class, that can be replaced: all fields but its own name."""
    return tuple(field.name for field in fields(machine) if field.name != OWN_NAME)


def _with_base(document: Document, cls: type[Values], rules: Rules) -> tuple[Document, Mapping[str, Origin]]:
    """The document without `like`, and what it takes from the machine that this names. One that is like no other."""
    data = document.data
    file_of = rules.file_of
    if file_of is None or not isinstance(data, dict) or _LIKE not in data:
        return document, {}
    name = data[_LIKE]
    try:
        base = load_file(file_of(str(name)))
    except UnknownName as error:
        document.refuse([document.at((_LIKE,), str(error))])
        raise
    if isinstance(base.data, dict) and _LIKE in base.data:
        document.refuse([document.at((_LIKE,), f"{name} is itself like another machine: name that one")])
    origins = read_parameters(file_of(str(name)), cls, None, replace(rules, file_of=None)).origins
    own = {key: value for key, value in data.items() if key != _LIKE}
    return replace(document, data=own), {origin.field: origin for origin in origins}


def _origins(
    document: Document,
    cls: type,
    known: Mapping[str, Field[Any]],
    mistakes: list[Mistake],
    taken: Mapping[str, Origin],
) -> dict[str, Origin]:
    data = document.data
    if not isinstance(data, dict):
        mistakes.append(document.at((), "the top level must be a mapping: each parameter {value: ..., source: ...}"))
        return {}
    hints = get_type_hints(cls)
    origins = {}
    for name, field in known.items():
        if name in data:
            reading = Reading(document, hints[name], field)
            origins[name] = _origin(reading, (name,), data[name])
            mistakes += reading.mistakes
        elif name in taken:
            origins[name] = taken[name]
        elif field.default is not MISSING:
            default = Published(field.default, str(field.default), "not in the file: the default")
            origins[name] = Origin(name, default)
        else:
            mistakes.append(document.at((), f"missing parameter {name!r}"))
    return origins


def _origin(reading: Reading, path: DataPath, entry: object) -> Origin:
    used = _published(reading, path, entry, _KEYS)
    others = entry.get("alternatives", []) if isinstance(entry, dict) else []
    if not isinstance(others, list):
        reading.refuse((*path, "alternatives"), "a list of {value: ..., source: ...} is due")
        others = []
    alternatives = [
        _published(reading, (*path, "alternatives", number), other, _KEYS[:3]) for number, other in enumerate(others)
    ]
    return Origin(str(path[0]), used, tuple(alternatives))


def _published(reading: Reading, path: DataPath, entry: object, keys: tuple[str, ...]) -> Published:
    if not isinstance(entry, dict):
        reading.refuse(path, "a parameter is written {value: ..., source: ...}")
        return Published(None, "", "")
    for key in entry:
        if key not in keys:
            message = f"unknown key {key!r}{did_you_mean(key, keys)}; accepted here: {', '.join(keys)}"
            reading.refuse_key((*path, key), message)
    for key in keys[:2]:
        if key not in entry:
            reading.refuse(path, f"missing key {key!r}")
    value = reading.value((*path, "value"), entry["value"]) if "value" in entry else None
    texts = {key: reading.text((*path, key), entry[key]) for key in ("source", "note") if key in entry}
    return Published(value, reading.written((*path, "value")), texts.get("source", ""), texts.get("note", ""))


def _overridden(cls: type, field: Field[Any], text: str) -> Published:
    if not text.strip():
        raise UserError(f"--set {field.name}= has no value")
    document = load_text(text, f"--set {field.name}")
    reading = Reading(document, get_type_hints(cls)[field.name], field)
    value = reading.value((), document.data)
    document.refuse(reading.mistakes)
    return Published(value, text, COMMAND_LINE)

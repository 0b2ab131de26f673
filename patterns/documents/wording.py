"""Pydantic's findings as a person would say them, each with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from patterns.documents.yaml_tree import Path
from patterns.errors import Mistake, did_you_mean
from patterns.load import Document, found

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[str | int, ...]

# Suggestions cost more than mistakes; nobody reads a hundred.
_SUGGESTIONS = 100


def checked(model: type[Model], document: Document) -> Model:
    """The document as a model. Raises SpecError with all mistakes, those of the document included."""
    data = document.data
    if not isinstance(data, dict):
        instead = found(data, document.where[()])
        document.refuse([document.at((), f"the top level must be a mapping (key: value), found {instead}")])
    offered = {key: value for key, value in dict(data).items() if not key.startswith("x-")}  # type: ignore[call-overload]
    try:
        made = model.model_validate(offered)
    except ValidationError as error:
        document.refuse(list(_mistakes(error, model, document)))
        raise
    document.refuse([])
    return made


def _mistakes(error: ValidationError, model: type[BaseModel], document: Document) -> Iterator[Mistake]:
    counts: dict[Path, None] = {}
    for number, detail in enumerate(error.errors(include_url=False)):
        path, fields = _follow(model, detail["loc"])
        if path[-1:] in (("int",), ("str",)) and path not in document.where:
            # One of two forms that a value may have: told once, of both.
            counts[path[:-1]] = None
        else:
            yield _mistake(detail, path, fields, document, suggest=number < _SUGGESTIONS)
    for path in counts:
        instead = found(document.value(path), document.where.get(path))
        yield document.at(path, f"a whole number or an expression of extents is due, found {instead}")


def _mistake(
    detail: ErrorDetails, path: Path, fields: tuple[str, ...], document: Document, *, suggest: bool
) -> Mistake:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        name = str(path[-1])
        nearest = did_you_mean(name, fields) if suggest else ""
        return document.at_key(path, f"unknown key {name!r}{nearest}; accepted here: {', '.join(fields)}")
    if kind == "missing":
        return document.at(path[:-1], f"missing key {str(path[-1])!r}")
    instead = found(detail["input"], document.where.get(path))
    if detail["loc"][-1:] == ("[key]",):
        return document.at_key(path, _KEY_PROBLEMS.get(kind, _as_pydantic)(detail, instead, context))
    return document.at(path, _PROBLEMS.get(kind, _as_pydantic)(detail, instead, context))


Say = Callable[[ErrorDetails, str, Mapping[str, Any]], str]


def _due(what: str, hint: str = "") -> Say:
    def say(_detail: ErrorDetails, instead: str, _context: Mapping[str, Any]) -> str:
        return f"{what} is due, found {instead}{hint}"

    return say


def _text_due(detail: ErrorDetails, instead: str, _context: Mapping[str, Any]) -> str:
    given = detail["input"]
    hint = "; quote it if it is meant as text" if isinstance(given, int | float) else ""
    if "dims" in detail["loc"] and isinstance(given, int | float):
        hint = "; dims have names, and extents say how large they are"
    if isinstance(given, list) and given and all(isinstance(name, str) for name in given):
        hint = f"; write the names one after another: {' '.join(given)[:60]}"
    return f"text is due, found {instead}{hint}"


def _whole_number_due(what: str) -> Say:
    def say(detail: ErrorDetails, instead: str, _context: Mapping[str, Any]) -> str:
        number = detail["input"]
        hint = f"; write {int(number)}" if isinstance(number, float) and number.is_integer() else ""
        return f"{what} is due, found {instead}{hint}"

    return say


def _one_of(detail: ErrorDetails, instead: str, context: Mapping[str, Any]) -> str:
    expected = str(context.get("expected") or context.get("expected_tags"))
    # Numbers and truths are expected without quotes, and are written otherwise in the file than in Python.
    options = re.findall(r"'([^']*)'", expected) or re.split(r", | or ", expected.lower())
    nearest = did_you_mean(detail["input"], options) if isinstance(detail["input"], str) else ""
    due = f"one of {', '.join(options)}" if len(options) > 1 else options[0]
    return f"{due} is due, found {instead}{nearest}"


def _unknown_tag(_detail: ErrorDetails, _instead: str, context: Mapping[str, Any]) -> str:
    options = re.findall(r"'([^']*)'", str(context["expected_tags"]))
    name, key = str(context["tag"]), str(context["discriminator"]).split("(")[0].strip("'_")
    hint = (_kind_hint(name) if key == "kind" else "") or did_you_mean(name, options)
    return f"unknown {key} {name!r}{hint}; there is: {', '.join(options)}"


def _kind_hint(name: str) -> str:
    """What else is called so: functions of kinds, or a graph; '' if nothing is."""
    from patterns.kind import kind_named, kind_names
    from patterns.library import graph_names

    having = [kind for kind in kind_names() if name in kind_named(kind).FUNCTIONS]
    if having:
        return f" (a function: {' or '.join(f'{{kind: {kind}, fn: {name}}}' for kind in having)})"
    return f" (a graph of the library: a block takes it with `use: {name}`)" if name in graph_names() else ""


def _missing_tag(detail: ErrorDetails, instead: str, context: Mapping[str, Any]) -> str:
    if not isinstance(detail["input"], dict):
        return f"a mapping (key: value) is due, found {instead}"
    key = str(context["discriminator"]).split("(")[0].strip("'_")
    return f"missing key {key!r}, which is text"


def _name_due(_detail: ErrorDetails, instead: str, _context: Mapping[str, Any]) -> str:
    return f"a name is due (letters, digits and _, not starting with a digit), found {instead}"


def _shorter_due(_detail: ErrorDetails, instead: str, context: Mapping[str, Any]) -> str:
    return f"at most {context['max_length']} characters are due, found {instead}"


def _greater_due(_detail: ErrorDetails, instead: str, context: Mapping[str, Any]) -> str:
    return f"a number greater than {context['gt']} is due, found {instead}"


def _as_pydantic(detail: ErrorDetails, instead: str, _context: Mapping[str, Any]) -> str:
    return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}, found {instead}"


def _some_due(_detail: ErrorDetails, _instead: str, _context: Mapping[str, Any]) -> str:
    return "empty; at least one is due"


def _own_words(_detail: ErrorDetails, _instead: str, context: Mapping[str, Any]) -> str:
    return str(context["error"])


_PROBLEMS: Mapping[str, Say] = {
    "string_type": _text_due,
    "int_type": _whole_number_due("a whole number"),
    "int_from_float": _whole_number_due("a whole number"),
    "extent_type": _whole_number_due("a whole number or an expression"),
    "float_type": _due("a number"),
    "finite_number": _due("a finite number"),
    "greater_than": _greater_due,
    "bool_type": _due("true or false"),
    "list_type": _due("a list ([a, b])"),
    "tuple_type": _due("a list ([a, b])"),
    "dict_type": _due("a mapping (key: value)"),
    "model_type": _due("a mapping (key: value)"),
    "model_attributes_type": _due("a mapping (key: value)"),
    "literal_error": _one_of,
    "union_tag_invalid": _unknown_tag,
    "union_tag_not_found": _missing_tag,
    "string_pattern_mismatch": _name_due,
    "string_too_long": _shorter_due,
    "value_error": _own_words,
    "too_short": _some_due,
}
_KEY_PROBLEMS: Mapping[str, Say] = {
    kind: _PROBLEMS[kind] for kind in ("string_pattern_mismatch", "string_too_long", "value_error")
}


def _follow(model: type[BaseModel], location: Location) -> tuple[Path, tuple[str, ...]]:
    """The document's path for a location of pydantic's, which also names union members; and the keys known there."""
    path: Path = ()
    fields = _fields(model, ())
    annotation: Any = model
    for part in location:
        if part == "[key]":
            continue
        members = _members(annotation)
        if members:
            annotation = members.get(part)
            fields = _fields(annotation, fields)
            continue
        fields = _fields(annotation, fields)
        annotation = _below(annotation, part)
        path = (*path, part)
    return path, fields


def _fields(annotation: Any, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(annotation.model_fields) if _is_model(annotation) else otherwise


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _members(annotation: Any) -> dict[str | int, Any]:
    """Members of a tagged union by tag; {} for anything else."""
    return {
        note.tag: get_args(member)[0]
        for member in get_args(_bare(annotation))
        for note in getattr(member, "__metadata__", ())
        if isinstance(note, Tag)
    }


def _bare(annotation: Any) -> Any:
    """An annotation without its metadata and without `| None`."""
    if hasattr(annotation, "__metadata__"):
        return _bare(get_args(annotation)[0])
    present = [member for member in get_args(annotation) if member is not type(None)]
    return _bare(present[0]) if len(present) == 1 and len(get_args(annotation)) == 2 else annotation


def _below(annotation: Any, part: str | int) -> Any:
    bare = _bare(annotation)
    if _is_model(bare):
        return bare.model_fields[part].annotation if part in bare.model_fields else None
    arguments = get_args(bare)
    if get_origin(bare) in (dict, Mapping):
        return arguments[1]
    return arguments[0] if arguments else None

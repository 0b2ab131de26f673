"""JSON as a document: strict, with the places of its values, every repeated key told."""

from __future__ import annotations

import json

from patterns.documents.yaml_tree import Mark
from patterns.errors import Mistake, SpecError
from patterns.load import Document, load_text

MOST_DIGITS = 30


def read_json(text: str, file: str) -> Document:
    """A JSON text as a document, with the places of its values. Raises SpecError."""
    try:
        # What is no number (NaN, a million digits) stays text, so that it is told where a number is due.
        data = json.loads(text, object_pairs_hook=unrepeated, parse_constant=str, parse_int=_whole_number)
    except json.JSONDecodeError as error:
        raise SpecError([Mistake(file, error.lineno, error.colno, "", f"not JSON: {error.msg}")]) from None
    except RecursionError:
        raise SpecError([Mistake(file, 1, 1, "", "nested too deep to be read")]) from None
    except Repeated as error:
        raise SpecError(_repetitions(text, file, str(error))) from None
    try:
        places = load_text(text, file)
    except SpecError:
        # JSON that is no YAML (tabs): the fields' names must do.
        return Document(file, data, {(): Mark(1, 1)}, {})
    return Document(file, data, places.where, places.keys)


class Repeated(Exception):
    """A key that an object has twice: its text is the key."""


def unrepeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON. Raises Repeated."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [key for key, _ in pairs]
        raise Repeated(next(key for key in names if names.count(key) > 1))
    return made


def _repetitions(text: str, file: str, key: str) -> list[Mistake]:
    """Where keys are repeated, read as YAML; the file as a whole where it is none."""
    try:
        found = [mistake for mistake in load_text(text, file).mistakes if mistake.message.startswith("repeated key")]
    except SpecError:
        found = []
    return found or [Mistake(file, 1, 1, "", f"repeated key {key!r}; keep one")]


def _whole_number(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits

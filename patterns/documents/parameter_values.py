"""One parameter's value: from plain data to what its dataclass field declares, with unit and range checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field
from math import isfinite
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from patterns.documents.yaml_tree import Path
from patterns.errors import Mistake, UserError, did_you_mean
from patterns.load import Document, found
from patterns.units import Dimension, dimension_of, missing_unit, parse_quantity

_COSTS = ("cycles", "s", "ps", "joules", "watts")
_PARTS_OF_ONE = ("efficiency", "fraction", "share")


def may_be_zero_and_most(field: Field[Any]) -> tuple[bool, int | None]:
    """Whether a field may be 0, and the greatest that it may be, as its name and its metadata say."""
    dimension = dimension_of(field.name)
    cost = dimension.name.split("_")[0] in _COSTS and not dimension.positive
    most = 1 if field.name.rsplit("_", 1)[-1] in _PARTS_OF_ONE else None
    return field.metadata.get("zero", False) or cost, most


def limits_of(field: Field[Any]) -> str:
    """'greater than 0', 'at least 0', with the greatest value if there is one."""
    may_be_zero, most = may_be_zero_and_most(field)
    return f"{'at least' if may_be_zero else 'greater than'} 0{f' and at most {most}' if most else ''}"


class Reading:
    """Reads values of one field from a document; what is wrong is collected in `mistakes`."""

    def __init__(self, document: Document, annotation: Any, field: Field[Any]) -> None:
        self.document = document
        self.annotation = annotation
        self.field = field
        self.dimension: Dimension = dimension_of(field.name)
        self.mistakes: list[Mistake] = []

    def refuse(self, path: Path, message: str) -> None:
        """Note a mistake at a value."""
        self.mistakes.append(self.document.at(path, message))

    def refuse_key(self, path: Path, message: str) -> None:
        """Note a mistake at a key."""
        self.mistakes.append(self.document.at_key(path, message))

    def found(self, path: Path, data: object) -> str:
        """What is there instead, in words."""
        return found(data, self.document.where[path])

    def written(self, path: Path) -> str:
        """A value as the file has it."""
        return self.document.written(path)

    def value(self, path: Path, data: object) -> Any:
        """The field's value; None if it was refused."""
        return self.of(self.annotation, path, data)

    def of(self, annotation: Any, path: Path, data: object) -> Any:
        """A value of one type."""
        present = [member for member in get_args(annotation) if member is not NoneType]
        if NoneType in get_args(annotation):
            return self.of(present[0], path, data)
        return _READERS[get_origin(annotation) or annotation](self, annotation, path, data)

    def whole(self, _annotation: Any, path: Path, data: object) -> int | None:
        """An integer in the unit of the field's name."""
        number = self.number(path, data, "a whole number")
        if number is None or (isinstance(number, int) and self.in_range(path, number)):
            return number if isinstance(number, int) else None
        if isinstance(number, float):
            unit = f" of {self.dimension.name.replace('_', ' ')}" if self.dimension.name else ""
            hint = f"; write {int(number)}" if isfinite(number) and number.is_integer() else ""
            self.refuse(path, f"a whole number{unit} is due, found {self.found(path, data)}{hint}")
        return None

    def real(self, _annotation: Any, path: Path, data: object) -> float | None:
        """A finite float in the unit of the field's name."""
        number = self.number(path, data, "a number")
        return float(number) if number is not None and self.in_range(path, number) else None

    def number(self, path: Path, data: object, due: str) -> int | float | None:
        """A number, with its unit if the field has one."""
        if isinstance(data, bool) or not isinstance(data, int | float | str):
            wanted = f"{due} with a unit, as in {self.dimension.example!r}," if self.dimension.name else due
            self.refuse(path, f"{wanted} is due, found {self.found(path, data)}")
        elif not self.dimension.name:
            if not isinstance(data, str):
                return data
            self.refuse(path, f"{due} is due, found {self.found(path, data)}")
        elif not isinstance(data, str):
            self.refuse(path, missing_unit(self.document.where[path].text or str(data), self.dimension))
        else:
            try:
                return parse_quantity(data, self.dimension)
            except UserError as error:
                self.refuse(path, str(error))
        return None

    def in_range(self, path: Path, number: int | float) -> bool:
        """Whether a number is in the range that the field's name says; notes a mistake if not."""
        may_be_zero, most = may_be_zero_and_most(self.field)
        enough = number >= 0 if may_be_zero else number > 0
        if isfinite(number) and enough and (most is None or number <= most):
            return True
        shown = self.document.where[path].text or str(number)
        self.refuse(path, f"must be finite and {limits_of(self.field)}, found {shown}")
        return False

    def text(self, path: Path, data: object) -> str:
        """Text with something in it."""
        if isinstance(data, str) and data.strip():
            return data
        self.refuse(path, f"text is due, found {self.found(path, data)}")
        return ""

    def word(self, _annotation: Any, path: Path, data: object) -> str:
        """Text, as a field's value."""
        return self.text(path, data)

    def truth(self, _annotation: Any, path: Path, data: object) -> bool | None:
        """True or false."""
        if isinstance(data, bool):
            return data
        self.refuse(path, f"true or false is due, found {self.found(path, data)}")
        return None

    def choice(self, annotation: Any, path: Path, data: object) -> Any:
        """One of the values of a Literal."""
        options = get_args(annotation)
        if type(data) in map(type, options) and data in options:
            return data
        nearest = did_you_mean(data, map(str, options)) if isinstance(data, str) else ""
        due = ", ".join(map(str, options))
        self.refuse(path, f"one of {due} is due, found {self.found(path, data)}{nearest}")
        return None

    def several(self, annotation: Any, path: Path, data: object) -> tuple[Any, ...]:
        """A tuple: of one type and any length, of fixed types, or of (name, value) pairs from a mapping."""
        members = get_args(annotation)
        endless = members[-1:] == (...,)
        if endless and get_origin(members[0]) is tuple:
            return self.pairs(get_args(members[0])[1], path, data)
        if not isinstance(data, list):
            self.refuse(path, f"a list ([a, b]) is due, found {self.found(path, data)}")
            return ()
        if not endless and len(data) != len(members):
            self.refuse(path, f"a list of {len(members)} values is due, found {len(data)}")
            return ()
        types = [members[0]] * len(data) if endless else members
        return tuple(self.of(kind, (*path, i), item) for i, (kind, item) in enumerate(zip(types, data, strict=True)))

    def pairs(self, annotation: Any, path: Path, data: object) -> tuple[tuple[str, Any], ...]:
        """(name, value) pairs, in the order of the file."""
        if isinstance(data, dict):
            return tuple((key, self.of(annotation, (*path, key), value)) for key, value in data.items())
        self.refuse(path, f"a mapping (name: value) is due, found {self.found(path, data)}")
        return ()


_READERS: Mapping[Any, Callable[[Reading, Any, Path, object], Any]] = {
    int: Reading.whole,
    float: Reading.real,
    str: Reading.word,
    bool: Reading.truth,
    Literal: Reading.choice,
    tuple: Reading.several,
}

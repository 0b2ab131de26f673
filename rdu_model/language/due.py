"""What a person's argument must be: a whole number, a name, names of dims. Each mistake is one message."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import SupportsIndex, cast

from patterns.errors import UserError


def whole(what: str, value: object, least: int = 1) -> int:
    """A whole number of at least so much; numpy's are too, truth values are not. Raises UserError."""
    try:
        found = index(cast(SupportsIndex, value))
    except TypeError:
        found = None
    if found is None or isinstance(value, bool):
        raise UserError(f"{what}: a whole number is due, found {value!r}")
    if found < least:
        raise UserError(f"{what}: at least {least} is due, found {found}")
    return found


def text(what: str, value: object) -> str:
    """Text, which may be empty. Raises UserError."""
    if not isinstance(value, str):
        raise UserError(f"{what}: text is due, found {value!r}")
    return value


def truth(what: str, value: object) -> bool:
    """True or False. Raises UserError."""
    if not isinstance(value, bool):
        raise UserError(f"{what}: True or False is due, found {value!r}")
    return value


def name_of(what: str, value: object) -> str:
    """A name: text without spaces, which separate names elsewhere. Raises UserError."""
    if not isinstance(value, str) or not value or value.split() != [value]:
        raise UserError(f"{what}: a name without spaces is due, found {value!r}")
    return value


def names_of(what: str, value: object) -> tuple[str, ...]:
    """Names with spaces between them, each once. Raises UserError."""
    if not isinstance(value, str):
        raise UserError(f"{what}: names with spaces between them are due, as in 'm k', found {value!r}")
    names = tuple(value.split())
    if len(set(names)) != len(names):
        raise UserError(f"{what}: {value!r} has a name twice")
    return names


def extents_of(what: str, value: object, dims: tuple[str, ...]) -> tuple[int, ...]:
    """An extent for each of the dims. Raises UserError."""
    if not isinstance(value, (tuple, list)):
        raise UserError(f"{what}: a tuple of extents is due, one for each of {' '.join(dims)!r}, found {value!r}")
    if len(value) != len(dims):
        raise UserError(f"{what}: {len(dims)} extents are due, of {' '.join(dims)!r}, found {tuple(value)}")
    return tuple(whole(f"{what}: extent of {dim!r}", extent) for dim, extent in zip(dims, value, strict=True))


def new_dims(what: str, value: object) -> dict[str, int]:
    """Dims that a buffer's pattern makes, with their extents. Raises UserError."""
    if not isinstance(value, Mapping):
        raise UserError(f"{what}: to is a dict of dims and extents, as in {{'head': 4, 'd': 8}}, found {value!r}")
    return {name_of(f"{what}: to", dim): whole(f"{what}: extent of {dim!r}", n) for dim, n in value.items()}

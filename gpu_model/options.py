"""What a user fixes of a kernel's schedule and tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from patterns.errors import UnknownName, UserError


@dataclass(frozen=True)
class Options:
    """What a user fixes of a schedule; None for what the model chooses.

    Of all launches: l2_keep names tensors or roles that the L2 keeps, l2_share the percentage of it that is set aside.
    """

    slots: int | None = None
    loader: str | None = None
    warpgroups: int | None = None
    tile_m: int | None = None
    tile_n: int | None = None
    tile_k: int | None = None
    splits: int | None = None
    cluster: int | None = None
    dma_warps: int | None = None
    layout: str | None = None
    ctas: int | None = None
    l2_keep: str | None = None
    l2_share: int | None = None


# Other names of options.
ALIASES = {"stages": "slots"}
OPTION_NAMES = tuple(
    name
    for field in fields(Options)
    for name in (field.name, *(alias for alias, meant in ALIASES.items() if meant == field.name))
)
# Options whose values are names.
WORDS = tuple(field.name for field in fields(Options) if field.type == "str | None")


def options_of(given: Mapping[str, int | str]) -> Options:
    """Options as given, numbers also as text. Raises UnknownName, UserError. `stages` is another name of `slots`."""
    values: dict[str, int | str] = {}
    for name, value in given.items():
        if name not in OPTION_NAMES:
            raise UnknownName("option", name, OPTION_NAMES)
        values[ALIASES.get(name, name)] = str(value) if name in WORDS else _positive(name, value)
    return Options(**values)  # type: ignore[arg-type]


def _positive(name: str, value: int | str) -> int:
    text = str(value).strip()
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise UserError(f"option {name} must be a whole number greater than 0, is {value!r}")
    return int(text)

"""`--set` of a validation: which machines a parameter is replaced on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from experiments.sides import Family, load_machine
from patterns.documents.parameters import parameter_names
from patterns.errors import UserError

if TYPE_CHECKING:
    from experiments.validation.row import Row

SIDES: tuple[Family, ...] = get_args(Family)
Overrides = Mapping[Family, Mapping[str, str]]


def overrides_of(settings: Sequence[tuple[str, str]], rows: Sequence[Row]) -> Overrides:
    """Settings by side, then by name; `gpu.` or `rdu.` may stand before it.

    Without, a setting is of the machines that the rows are of. Raises UserError for one that is set twice, and for one
    that machines of both sides have.
    """
    first = {row.side: row.machine for row in reversed(rows)}
    known = {side: parameter_names(load_machine(side, machine, {})) for side, machine in first.items()}
    found: dict[Family, dict[str, str]] = {side: {} for side in SIDES}
    for written, value in settings:
        for side, name in _places(written, known):
            if name in found[side]:
                raise UserError(f"{name!r} is set twice by --set: keep one")
            found[side][name] = value
    return found


def _places(written: str, known: Mapping[Family, Sequence[str]]) -> list[tuple[Family, str]]:
    """Where a setting goes: (side, name). To all sides if none has it, which then say so."""
    place, dot, name = written.partition(".")
    if dot and place in SIDES:
        return [(side, name) for side in SIDES if side == place]
    sides = [side for side in SIDES if written in known.get(side, ())]
    if len(sides) > 1:
        choices = " or ".join(f"{side}.{written}" for side in sides)
        raise UserError(f"setting {written!r} is known on {len(sides)} sides: write {choices}")
    return [(side, written) for side in sides or known]

"""Error bands: where measurements lie beside a prediction, by part of a plan's time, as validation found it.

A band is the 10th and the 90th percentile of measured time over predicted time, less one: of ten measurements of that
part eight lie inside. experiments/measured/bands.yaml holds them by machine; `validate --write-bands` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from experiments.validation.accuracy import percentile, targets
from experiments.validation.family import Part, family_named
from experiments.validation.published import MEASURED
from patterns.load import load_file, validate

if TYPE_CHECKING:
    from experiments.validate import Validation
    from experiments.validation.row import Compared

FILE = "bands.yaml"
LOW, HIGH = 10, 90
# A part that was not measured on a machine has the band of all machines together.
ANY = "any"
COMMENT = """\
# Where measurements lie beside predictions, by machine and part of a plan's time: the {low}th and {high}th percentile
# of measured time over predicted time, less one, in percent. Written by `patternloom validate --write-bands`; `any`
# pools all machines.
"""


@dataclass(frozen=True)
class Band:
    """Of a part on a machine: the families that it is from, how many rows they had, and between what they lay."""

    machine: str
    part: Part
    families: tuple[str, ...]
    rows: int
    low_percent: float
    high_percent: float


class _BandSpec(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    machine: str
    part: Part
    families: list[str]
    rows: int
    low_percent: float
    high_percent: float


class _BandsSpec(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    bands: list[_BandSpec]


@cache
def known_bands() -> tuple[Band, ...]:
    """The bands of the project's file. Raises SpecError."""
    spec = validate(_BandsSpec, load_file(files(MEASURED).joinpath(FILE)))
    return tuple(Band(b.machine, b.part, tuple(b.families), b.rows, b.low_percent, b.high_percent) for b in spec.bands)


def band_of(machine: str, part: Part, bands: Sequence[Band]) -> Band | None:
    """A part's band on a machine of which anything was measured, else None."""
    by_key = {(band.machine, band.part): band for band in bands}
    if all(band.machine != machine for band in bands):
        return None
    return by_key.get((machine, part)) or by_key.get((ANY, part))


def found_bands(validation: Validation) -> list[Band]:
    """The bands of a validation's families, by machine and of all together."""
    rows: dict[tuple[str, Part], list[Compared]] = {}
    for family in validation.families:
        part = family_named(family.name).PART
        if not part:
            continue
        for compared in targets(family.compared):
            rows.setdefault((compared.row.machine, part), []).append(compared)
            rows.setdefault((ANY, part), []).append(compared)
    return [_band(machine, part, rows[machine, part]) for machine, part in sorted(rows)]


def _band(machine: str, part: Part, rows: Sequence[Compared]) -> Band:
    off = [time_ratio_percent(compared) for compared in rows]
    families = tuple(sorted({compared.row.family for compared in rows}))
    return Band(machine, part, families, len(rows), round(percentile(off, LOW), 1), round(percentile(off, HIGH), 1))


def time_ratio_percent(compared: Compared) -> float:
    """By how much the measured time is longer than the predicted one, in percent; rates are turned into times."""
    longer = compared.nearest / compared.predicted
    return 100 * ((1 / longer if compared.row.unit.endswith("/s") else longer) - 1)


def bands_text(validation: Validation) -> str:
    """The bands as the file that known_bands reads."""
    bands = found_bands(validation)
    lines = [COMMENT.format(low=LOW, high=HIGH), "bands:\n" if bands else "bands: []\n"]
    for band in bands:
        families = ", ".join(band.families)
        cells: Mapping[str, object] = {
            "machine": band.machine,
            "part": band.part,
            "families": f"[{families}]",
            "rows": band.rows,
            "low_percent": band.low_percent,
            "high_percent": band.high_percent,
        }
        lines.append("  - {" + ", ".join(f"{name}: {value}" for name, value in cells.items()) + "}\n")
    return "".join(lines)

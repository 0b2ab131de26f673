"""How far predictions are off, in percent of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from experiments.validation.row import Compared


@dataclass(frozen=True)
class Accuracy:
    """mape, median and p90 are of the absolute errors, bias is the mean of the signed ones."""

    rows: int
    mape_percent: float
    median_percent: float
    p90_percent: float
    bias_percent: float


def accuracy_of(rows: Sequence[Compared]) -> Accuracy | None:
    """The accuracy over rows that are targets; None of none."""
    errors = [row.error_percent for row in targets(rows)]
    if not errors:
        return None
    absolute = [abs(error) for error in errors]
    return Accuracy(len(errors), fmean(absolute), median(absolute), percentile(absolute, 90), fmean(errors))


def targets(rows: Sequence[Compared]) -> list[Compared]:
    """Rows of which an error is counted: the others are only shown beside."""
    return [compared for compared in rows if compared.row.target]


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which so many percent lie, between neighbours in proportion."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def worst(rows: Sequence[Compared], count: int) -> list[Compared]:
    """The targets that are farthest off, farthest first."""
    return sorted(targets(rows), key=lambda row: (-abs(row.error_percent), row.row.id))[:count]

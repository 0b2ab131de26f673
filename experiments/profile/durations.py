"""Durations in figures, as Nsight Systems lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median


@dataclass(frozen=True)
class Durations:
    """How many, how long in all, and how they spread, in ns. spread_ns: the standard deviation, 0 of one."""

    count: int
    total_ns: int
    mean_ns: float
    median_ns: float
    min_ns: int
    max_ns: int
    spread_ns: float


def durations(values: Sequence[int]) -> Durations:
    """The figures of at least one duration."""
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    spread = sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0
    return Durations(len(values), sum(values), mean, median(values), min(values), max(values), spread)

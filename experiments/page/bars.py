"""Accounts of a comparison as stacked bars on one scale: what each run's whole is made of, and its bound beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.text.energy import SHOWN, joules_text, range_text
from experiments.text.quantity import percent_texts, time_text, time_texts
from experiments.validation.plan_bands import combined

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from patterns.energy import Energy
    from patterns.report import Report

Values = Callable[["Report"], tuple[tuple[str, int], ...]]
# Of the width of a drawing the longest bar takes so much.
WIDTH_PERCENT = 100.0


@dataclass(frozen=True)
class Piece:
    """One part of a bar, in percent of the width."""

    name: str
    left: float
    width: float
    text: str


@dataclass(frozen=True)
class Row:
    """A bar. bound, low and high: marks in percent of the width, None for none."""

    label: str
    pieces: tuple[Piece, ...]
    value: str
    spoken: str
    bound: float | None = None
    bound_text: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Account:
    """Bars below each other. names: (part, words) that any bar has. bound, error: what their marks mean."""

    title: str
    rows: tuple[Row, ...]
    names: tuple[tuple[str, str], ...]
    bound: str = ""
    error: str = ""


def time_account(title: str, outcomes: Sequence[Outcome], names: Sequence[str], values: Values) -> Account:
    """A bar a report: parts of its time, with the lower bound marked, and the error band where there is one."""
    reports = [outcome.report for outcome in outcomes]
    bands = [combined(outcome.bands) or (0.0, 0.0) for outcome in outcomes]
    ends_ps = [report.time_ps * (1 + high / 100) for report, (_, high) in zip(reports, bands, strict=True)]
    scale = WIDTH_PERCENT / (max(ends_ps, default=0) or 1)
    used = [name for name in names if any(dict(values(report)).get(name) for report in reports)]
    pairs = zip(reports, bands, strict=True)
    rows = tuple(time_row(report, used, dict(values(report)), band, scale) for report, band in pairs)
    words = tuple((name, name.replace("_", " ")) for name in used)
    return Account(title, rows, words, "lower bound", "error band" if any(map(any, bands)) else "")


def time_row(
    report: Report, names: Sequence[str], parts_ps: dict[str, int], band: tuple[float, float], scale: float
) -> Row:
    """The bar of one report; its texts are those of the table. band: in percent of the time, zeros for none."""
    amounts = [parts_ps.get(name, 0) for name in names]
    times, _ = time_texts(amounts)
    texts = [
        f"{name.replace('_', ' ')}: {time} ({percent})"
        for name, time, percent in zip(names, times, percent_texts(amounts), strict=True)
    ]
    label = f"{report.machine} {report.mode}"
    pieces = tuple(pieces_of(names, amounts, texts, scale))
    spoken = f"{label}, {time_text(report.time_ps)}: {'; '.join(piece.text for piece in pieces)}"
    bound_text = f"lower bound {time_text(report.bound_ps)}"
    low, high = (rounded(report.time_ps * (1 + end / 100) * scale) for end in band) if any(band) else (None, None)
    return Row(
        label, pieces, time_text(report.time_ps), spoken, rounded(report.bound_ps * scale), bound_text, low, high
    )


def energy_account(reports: Sequence[Report], word: str) -> Account:
    """A bar a report whose machine has energies: the typical joules by what they go to, and the range of the whole."""
    known = [(report, report.energy) for report in reports if report.energy]
    most = max((energy.high_j for _, energy in known), default=0.0) or 1.0
    rows = tuple(
        energy_row(f"{report.machine} {report.mode}", energy, WIDTH_PERCENT / most) for report, energy in known
    )
    used = [name for row in rows for name in (piece.name for piece in row.pieces)]
    names = tuple((energy_class(name), name) for name in SHOWN if energy_class(name) in used)
    return Account(
        f"Energy of one {word}: typical, by what it goes to", rows, names, error="from the low end to the high"
    )


def energy_row(label: str, energy: Energy, scale: float) -> Row:
    """The bar of one report."""
    found = {part.name: part.typical_j for part in energy.parts}
    joules = {name: sum(found.get(part, 0.0) for part in parts) for name, parts in SHOWN.items()}
    texts = [f"{name}: {joules_text(amount)}" for name, amount in joules.items()]
    pieces = tuple(pieces_of([energy_class(name) for name in joules], list(joules.values()), texts, scale))
    value = f"{joules_text(energy.typical_j)} ({range_text(energy.low_j, energy.high_j)})"
    spoken = f"{label}, {value}: {'; '.join(piece.text for piece in pieces)}"
    low, high = (rounded(amount * scale) for amount in (energy.low_j, energy.high_j))
    return Row(label, pieces, value, spoken, low=low, high=high)


def energy_class(name: str) -> str:
    """The style of a part of the energy."""
    return f"energy-{name.lower()}"


def pieces_of(names: Sequence[str], amounts: Sequence[float], texts: Sequence[str], scale: float) -> list[Piece]:
    """The parts that there are, one after another."""
    found, left = [], 0.0
    for name, amount, text in zip(names, amounts, texts, strict=True):
        if amount:
            found.append(Piece(name, rounded(left), rounded(amount * scale), text))
            left += amount * scale
    return found


def rounded(percent: float) -> float:
    """A place in percent, to thousandths."""
    return round(percent, 3)

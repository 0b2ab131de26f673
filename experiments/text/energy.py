"""Energy as text: what each run takes, how sure that is, and what it is spent on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.quantity import percent_texts
from experiments.text.table import Column, Table

if TYPE_CHECKING:
    from patterns.energy import Energy
    from patterns.report import Report

# What is shown of the parts of an energy, in order, and the parts that each is of.
SHOWN: Mapping[str, tuple[str, ...]] = {
    "compute": ("matrix", "vector", "special"),
    "issue": ("issue",),
    "on-chip": ("smem", "onchip"),
    "L2": ("l2",),
    "HBM": ("hbm",),
    "DDR": ("ddr",),
    "network": ("network",),
    "static": ("static",),
}
JOULE_STEPS = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ"), (1e-12, "pJ"))
NOTE = (
    "At the ends every price is at the end that its sources leave open; machine files have prices and sources. No"
    " energies of an RDU are published: its prices are those of like parts. Issue is of instructions, of which an RDU"
    " has none once it is configured; on-chip is shared memory, or PMUs; static is power at rest over the whole time."
)


def energy_parts(reports: Sequence[Report], word: str, tokens: int) -> list[Part]:
    """The table with its title and a note; nothing where no machine's file has energies."""
    known = [(report, report.energy) for report in reports if report.energy]
    if not known:
        return []
    return [
        f"Energy of one {word}, over all members: typical (low to high), and where the typical goes",
        energy_table(known, word, tokens),
        NOTE,
    ]


def energy_table(known: Sequence[tuple[Report, Energy]], word: str, tokens: int) -> Table:
    """One row a machine and mode: energy with its ends, that of one of several tokens, parts in percent."""
    shares = [_shares(energy) for _, energy in known]
    used = [name for name in SHOWN if any(share[name] not in ("-", "0.0%") for share in shares)]
    each = (Column("per\nsequence" if word == "token" else "per\ntoken"),) if tokens > 1 else ()
    names = (Column("machine", right=False), Column("mode", right=False))
    columns = (*names, Column(f"energy/\n{word}"), Column("low to\nhigh"), *each, *map(Column, used))
    rows = [
        (
            report.machine,
            report.mode,
            joules_text(energy.typical_j),
            range_text(energy.low_j, energy.high_j),
            *((joules_text(energy.typical_j / tokens),) if tokens > 1 else ()),
            *(share[name] for name in used),
        )
        for (report, energy), share in zip(known, shares, strict=True)
    ]
    changes = tuple(i for i in range(1, len(known)) if known[i][0].family != known[i - 1][0].family)
    return Table(columns, tuple(rows), changes, keys=2)


def joules_text(joules: float) -> str:
    """Three digits with the unit that suits: '2.67 J', '415 uJ'; '0 J'."""
    if not joules:
        return "0 J"
    step, unit = joule_unit(joules)
    return f"{three_digits(joules / step)} {unit}"


def range_text(low_j: float, high_j: float) -> str:
    """Both ends in one unit, that of the upper one: '1.08-4.32 J'."""
    step, unit = joule_unit(high_j)
    return f"{three_digits(low_j / step)}-{three_digits(high_j / step)} {unit}"


def joule_unit(joules: float) -> tuple[float, str]:
    """The largest unit that is not more than an energy, in joules, and its name."""
    return next((step for step in JOULE_STEPS if joules >= step[0]), JOULE_STEPS[-1])


def three_digits(value: float) -> str:
    """'2.67', '26.7', '267', '2,670'; of little what three digits have: '0.412'."""
    for limit, places in ((0.9995, 3), (9.995, 2), (99.95, 1)):
        if value < limit:
            return f"{value:.{places}f}"
    return f"{value:,.0f}"


def _shares(energy: Energy) -> dict[str, str]:
    """Percent of the typical energy, which add up as printed; '-' where there is nothing."""
    found = {part.name: part.typical_j for part in energy.parts}
    amounts = [sum(found.get(part, 0.0) for part in parts) for parts in SHOWN.values()]
    # Whole femtojoules: percentages of integers add up as printed.
    texts = percent_texts([round(amount * 1e15) for amount in amounts])
    return {name: text if amount else "-" for name, amount, text in zip(SHOWN, amounts, texts, strict=True)}

"""The report of a comparison: one page with its tables, time lines, graph, accounts, rules and provenance.

Every number comes from the functions that make the text of `patternloom compare`, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.page.bars import Account, energy_account, time_account
from experiments.page.graph import graph_markup
from experiments.page.machines import machine_tables
from experiments.page.parts import parts_markup
from experiments.page.provenance import provenance
from experiments.page.render import data_markup, rendered
from experiments.page.runs import CALL, runs_data
from experiments.text.comparison import (
    bytes_table,
    calls_table,
    family_changes,
    headline_note,
    run_word,
    title,
    tokens,
    warnings_of,
)
from experiments.text.energy import energy_parts
from experiments.text.error_bands import error_band_parts
from experiments.text.launching import NOTE, launching_table
from experiments.text.parts import parts_tables
from experiments.text.rules import counting_rules
from experiments.text.shared import shared_lines
from patterns.pipeline.program import UNIT_CLASSES
from patterns.report import OVERLAP_PARTS, WATERFALL_PARTS

if TYPE_CHECKING:
    from experiments.compare import Comparison, Outcome
    from experiments.text.page import Part

SCRIPTS = (
    "format.js",
    "unpacked.js",
    "timeline.js",
    "panel.js",
    "rows.js",
    "pointer.js",
    "view.js",
    "search.js",
    "perfetto.js",
    "graph.js",
    "page.js",
)
SECTIONS = (
    ("comparison", "comparison"),
    ("timelines", "time lines"),
    ("graph", "graph"),
    ("breakdown", "where the time goes"),
    ("bytes", "bytes"),
    ("energy", "energy"),
    ("bands", "error bands"),
    ("assumptions", "rules and assumptions"),
    ("provenance", "provenance"),
)


def report_page(comparison: Comparison) -> str:
    """The whole page, the same text for the same comparison."""
    request, reports = comparison.request, comparison.reports
    word = run_word(comparison.graph)
    bands = error_band_parts(comparison.outcomes, word)
    name, machines = title(comparison).split("\n")
    return rendered(
        "report.html",
        SCRIPTS,
        name=name,
        machines=machines,
        question=question(comparison, machines),
        headline=headline_note(comparison).replace("* headline", "Headline", 1),
        warnings=warnings_of(comparison),
        sections=sections(comparison),
        calls=parts_markup([*shared_lines(request), calls_table(comparison)]),
        panels=panels(comparison.outcomes),
        classes=(CALL, *UNIT_CLASSES),
        graph=graph_markup(comparison.graph),
        accounts=accounts(comparison, word),
        account_numbers=[parts_markup(parts[1:]) for parts in numbers(comparison, word)],
        bytes=parts_markup([f"Bytes moved in one {word}, over all members", bytes_table(reports)]),
        energy=energy_account(reports, word),
        energies=parts_markup(energy_parts(reports, word, tokens(comparison.graph))),
        launching=parts_markup([NOTE, launching_table(reports, family_changes(reports))]),
        bands=parts_markup(bands),
        rules=parts_markup(counting_rules(comparison)),
        machine_tables=list(machine_tables(request)),
        provenance=provenance(request),
        runs=data_markup(runs_data(comparison.outcomes)),
    )


def sections(comparison: Comparison) -> list[tuple[str, str]]:
    """(anchor, words) of the sections that the page has."""
    banded = any(outcome.bands for outcome in comparison.outcomes)
    priced = any(report.energy for report in comparison.reports)
    return [one for one in SECTIONS if {"bands": banded, "energy": priced}.get(one[0], True)]


def question(comparison: Comparison, machines: str) -> str:
    """What the page answers."""
    gpu, rdu = machines.split(" against ")
    return (
        f"How does {comparison.graph.name} run on {gpu} and on {rdu}: in how many calls, in what time, beside which"
        " bound, and what is waited for?"
    )


def panels(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A time line a family: which runs it can show, and which it shows first: of the headline, else the fastest."""
    found = []
    for family in dict.fromkeys(outcome.report.family for outcome in outcomes):
        places = [place for place, outcome in enumerate(outcomes) if outcome.report.family == family]
        first = min(places, key=lambda place: (not outcomes[place].headline, outcomes[place].report.time_ps))
        labels = [(place, outcomes[place].report.mode) for place in places]
        found.append({"family": family, "runs": labels, "chosen": first})
    return found


def accounts(comparison: Comparison, word: str) -> list[Account]:
    """The overlap account and the waterfall as bars."""
    outcomes = comparison.outcomes
    overlap, waterfall = (str(parts[0]) for parts in numbers(comparison, word))
    return [
        time_account(overlap, outcomes, OVERLAP_PARTS, lambda report: report.overlap_ps),
        time_account(waterfall, outcomes, WATERFALL_PARTS, lambda report: report.waterfall_ps),
    ]


def numbers(comparison: Comparison, word: str) -> tuple[list[Part], list[Part]]:
    """The overlap account and the waterfall in numbers, each with its title."""
    parts = parts_tables(comparison.reports, word)
    second = next(place for place, part in enumerate(parts) if isinstance(part, str) and part.startswith("Waterfall"))
    return parts[:second], parts[second:]

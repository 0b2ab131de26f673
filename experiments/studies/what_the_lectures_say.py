"""What the lectures say and what we find: every printed claim beside what is computed, and when it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.survey import Record, Survey
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.picture import Picture

# As a reader sees a verdict.
VERDICTS = {"holds": "holds", "where": "holds where", "no": "does not hold"}


@dataclass(frozen=True)
class Printed:
    """One claim: its file, and its place there."""

    file: str
    place: int
    claim: str


def cases() -> Iterator[Printed]:
    """Every claim of every lecture."""
    from experiments.claim import claims_of, files_of_claims, title_of

    for file in sorted(files_of_claims(), key=title_of):
        for place, claim in enumerate(claims_of(file)):
            yield Printed(file, place, claim.says)


def record(case: Printed) -> Record:
    """A claim as it is printed, what was found, and when it holds."""
    from experiments.claim import claims_of, judged, title_of

    claim = claims_of(case.file)[case.place]
    found = claim.find()
    return {
        "lecture": title_of(case.file),
        "claim": claim.says,
        "printed": claim.printed,
        "found": found.text,
        "found_of_printed": found.value / claim.value if claim.value and found.value is not None else None,
        "verdict": VERDICTS[judged(claim, found)],
        "when": found.when,
    }


def finding(rows: Sequence[Record]) -> str:
    """How many claims of each lecture hold, hold under a condition, or do not."""
    told = []
    for lecture in dict.fromkeys(row["lecture"] for row in rows):
        of_it = [row for row in rows if row["lecture"] == lecture]
        holds, where, no = ([row for row in of_it if row["verdict"] == verdict] for verdict in VERDICTS.values())
        others = f"{len(no)} under none" if no else "none fails"
        told.append(
            f"of {number_of(len(of_it), 'claim')} of the lecture on {lecture} {len(holds)} hold as printed,"
            f" {len(where)} under a condition that stands beside it, {others}"
        )
    return f"By simulation, {'; '.join(told)}."


def details(rows: Sequence[Record]) -> str:
    """Those that do not hold."""
    no = [f"{row['claim']} ({row['lecture']})" for row in rows if row["verdict"] == VERDICTS["no"]]
    return f"What does not hold: {'; '.join(no)}." if no else ""


@dataclass(frozen=True)
class Verdicts:
    """A bar a lecture: how many of its claims hold, hold under a condition, and do not."""

    name: str

    def draw(self, records: Sequence[Record]) -> Picture:
        """The bars."""
        from experiments.plot.bars import Bars

        lectures = dict.fromkeys(row["lecture"] for row in records)
        rows = [
            {"lecture": lecture}
            | {
                verdict: sum((row["lecture"], row["verdict"]) == (lecture, verdict) for row in records)
                for verdict in VERDICTS.values()
            }
            for lecture in lectures
        ]
        columns = tuple(VERDICTS.values())
        return Bars(self.name, "lecture", columns, stacked=True, title="Printed claims", x_label="Claims").draw(rows)


STUDY = Survey(
    question="What do the lectures say, what do we find, and when does it hold?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(Verdicts("verdicts"),),
    keys=2,
)

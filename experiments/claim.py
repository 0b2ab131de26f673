"""What lectures print, beside what is computed here: files in claims/ with the TITLE of a lecture and CLAIMS of it.

A long lecture may have several files of the same TITLE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from patterns.plugin import load_module, modules

FOLDER = "experiments.claims"
# "where": under a condition that the lecture leaves out, or in one of several readings of it.
Verdict = Literal["holds", "where", "no"]


@dataclass(frozen=True)
class Found:
    """What was computed for a claim: as a reader sees it, and under which condition the claim holds, or why it does
    not. Both are made from computed numbers. value: the number that is beside the printed one, None if there is none.

    verdict: None where the numbers decide, see `judged`.
    """

    text: str
    when: str
    value: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Claim:
    """says: the claim in our words. printed: the lecture's figure as it prints it; value: its number; places: to which.

    find: computes it.
    """

    says: str
    printed: str
    find: Callable[[], Found]
    value: float | None = None
    places: int = 1


def judged(claim: Claim, found: Found) -> Verdict:
    """The verdict: what was found, rounded as the lecture rounds, is what it prints; unless there is more to say."""
    if found.verdict is not None:
        return found.verdict
    assert found.value is not None, "a claim without a number is judged where it is found"
    return "holds" if round(found.value, claim.places) == claim.value else "no"


def files_of_claims() -> tuple[str, ...]:
    """The files in claims/."""
    return modules(FOLDER)


def title_of(file: str) -> str:
    """The lecture whose claims a file has. Raises UnknownName."""
    return cast(str, load_module(FOLDER, file, "file of claims").TITLE)


def claims_of(file: str) -> tuple[Claim, ...]:
    """The claims of a file, in the lecture's order. Raises UnknownName."""
    return cast("tuple[Claim, ...]", load_module(FOLDER, file, "file of claims").CLAIMS)

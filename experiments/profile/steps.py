"""The steps of a run: ranges that the program marked, and the kernels that were launched in each."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from pydantic import BaseModel

from experiments.profile.attribution import Started, holder, holders, outermost
from experiments.profile.classes import STRICT
from experiments.profile.recording import Launch, Range
from patterns.errors import UserError
from patterns.load import load_file, validate

WHOLE = "the whole recording"
# A candidate holds at least this share of the launches that the best one holds.
SHARE = 0.5
SHOWN_NAMES = 12


class _PatternSpec(BaseModel):
    model_config = STRICT
    pattern: str
    example: str


class _TableSpec(BaseModel):
    model_config = STRICT
    patterns: list[_PatternSpec]


@dataclass(frozen=True)
class Step:
    """One step: its name, its process, when it ran on the host, and what it launched, in order of start."""

    name: str
    process: int
    start: int
    end: int
    work: tuple[Started, ...] = field(repr=False)


@dataclass(frozen=True)
class Candidate:
    """Ranges of one name but for its numbers: how many, and how many kernels were launched in them."""

    name: str
    count: int
    kernels: int


@dataclass(frozen=True)
class Steps:
    """The steps that were chosen. outside: launched between them. unattributed: without a launch in the recording.

    marked: whether the program marked them, or the whole recording is one. why: how they were chosen.
    """

    name: str
    steps: tuple[Step, ...]
    outside: tuple[Started, ...]
    unattributed: tuple[Started, ...]
    candidates: tuple[Candidate, ...]
    marked: bool
    why: str


@cache
def hints() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of the names of steps, the likeliest first, each with an example."""
    table = validate(_TableSpec, load_file(files("experiments.profile").joinpath("steps.yaml")))
    return tuple((re.compile(one.pattern), one.example) for one in table.patterns)


def without_numbers(name: str) -> str:
    """'ProfilerStep#12' as 'ProfilerStep#N': what steps of a kind have in common."""
    return re.sub(r"\d+", "N", name)


def find_steps(work: Sequence[Started], ranges: Sequence[Range], asked: str = "") -> Steps:
    """The steps whose names `asked` (a regular expression) finds, else the likeliest. Raises UserError."""
    found = candidates(work, ranges)
    if asked:
        pattern = compiled(asked)
        chosen = [one for one in ranges if pattern.search(one.name)]
        if not chosen:
            raise UserError(f"no range has a name that --step {asked!r} finds; {_there_is(found, ranges)}")
        return _divided(work, outermost(chosen, lambda _: ""), found, _one_name(chosen), "as --step asks")
    best = likeliest(found)
    if best is None:
        why = "no range that the program marked holds a launch" if ranges else "the program marked no ranges"
        known = tuple(one for one in work if one.launch is not None)
        rest = tuple(one for one in work if one.launch is None)
        whole = Step(WHOLE, 0, *_ends(work), known or tuple(work))
        return Steps(WHOLE, (whole,), (), rest if known else (), found, False, why)
    chosen = [one for one in ranges if without_numbers(one.name) == best.name]
    others = len(found) - 1
    why = f"the likeliest of {others + 1} kinds of ranges" if others else "the only kind of ranges with launches"
    return _divided(work, outermost(chosen, lambda _: ""), found, best.name, f"{why}; --step chooses")


def compiled(asked: str) -> re.Pattern[str]:
    """A pattern that a user writes. Raises UserError."""
    try:
        return re.compile(asked)
    except (re.error, RecursionError, OverflowError) as error:
        raise UserError(f"--step {asked!r} is no regular expression: {error}") from error


def candidates(work: Sequence[Started], ranges: Sequence[Range]) -> tuple[Candidate, ...]:
    """Kinds of ranges in which kernels were launched, those with most kernels first."""
    shown = outermost(ranges, lambda one: without_numbers(one.name))
    names = [without_numbers(one.name) for one in shown]
    launches, started = by_launch(work)
    kernels: Counter[str] = Counter()
    for place, running in holders(launches, shown):
        for name in {names[number] for number in running}:
            kernels[name] += len(started[place])
    counts = Counter(names)
    found = (Candidate(name, counts[name], held) for name, held in kernels.items())
    return tuple(sorted(found, key=lambda one: (-one.kernels, one.count, one.name)))


def likeliest(found: Sequence[Candidate]) -> Candidate | None:
    """The candidate that most likely is a step: it recurs, is named like one, and holds most of the launches."""
    most = max((one.kernels for one in found), default=0)
    fit = [one for one in found if one.kernels >= SHARE * most]

    def rank(one: Candidate) -> tuple[bool, int, int, int]:
        named = (place for place, (pattern, _) in enumerate(hints()) if pattern.search(one.name))
        return one.count < 2, next(named, len(hints())), -one.kernels, one.count

    return min(fit, key=rank, default=None)


def by_launch(work: Sequence[Started]) -> tuple[list[Launch], list[list[Started]]]:
    """Every launch that started something, in order, and what it started."""
    groups: dict[Launch, list[Started]] = defaultdict(list)
    for one in work:
        if one.launch is not None:
            groups[one.launch].append(one)
    launches = sorted(groups, key=lambda launch: launch.start)
    return launches, [groups[launch] for launch in launches]


def _divided(
    work: Sequence[Started], ranges: Sequence[Range], found: tuple[Candidate, ...], name: str, why: str
) -> Steps:
    launches, started = by_launch(work)
    inside: list[list[Started]] = [[] for _ in ranges]
    outside: list[Started] = []
    for place, running in holders(launches, ranges):
        number = holder(launches[place], ranges, running)
        (outside if number is None else inside[number]).extend(started[place])
    steps = tuple(
        Step(
            one.name, one.process, one.start, one.end, tuple(sorted(held, key=lambda s: (s.kernel.start, s.kernel.end)))
        )
        for one, held in zip(ranges, inside, strict=True)
        if held
    )
    if not steps:
        raise UserError(f"no kernel was launched in a range of {name!r}; {_there_is(found, ())}")
    unattributed = tuple(one for one in work if one.launch is None)
    return Steps(name, steps, tuple(outside), unattributed, found, True, why)


def _ends(work: Sequence[Started]) -> tuple[int, int]:
    """When a recording begins and ends."""
    starts = [one.launch.start if one.launch else one.kernel.start for one in work]
    return min(starts), max(one.kernel.end for one in work)


def _one_name(chosen: Sequence[Range]) -> str:
    names = list(dict.fromkeys(without_numbers(one.name) for one in chosen))
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} others"


def _there_is(found: Sequence[Candidate], ranges: Sequence[Range]) -> str:
    """What could be asked for instead."""
    names = [f"{one.name!r} x {one.count}" for one in found[:SHOWN_NAMES]]
    if names:
        more = len(found) - len(names)
        return "with launches there is: " + ", ".join(names) + (f" and {more} more" if more else "")
    return "no range holds a launch" if ranges else "the program marked no ranges (torch: record_function, nsys: NVTX)"

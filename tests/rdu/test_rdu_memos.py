"""Points in any order, with all that points before them left behind, have the reports that each has alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from patterns.brief import brief
from patterns.errors import UserError
from patterns.library import workload
from patterns.report import Report
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine, lower
from tests.memos import memos
from tests.rdu.test_rdu_cache import llama

OF_PLANS = ("rdu_model", "patterns.run")
CHANGED = {
    "pmus": ("12", "40"),
    "pcus": ("9", "30"),
    "hbm_bytes_per_s": ("1 TB/s", "2 TB/s"),
    "hbm_bytes": ("100 kB", "64 GiB"),
    "prefetch_bytes": ("0 B", "5 kB"),
}


@dataclass(frozen=True)
class Point:
    """A small Llama in one of few ways, so that many points have much in common; softmax if it has no layers."""

    context: int
    layers: int
    members: int
    values: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...]

    def report(self) -> Report | str:
        """The report, or why there is none."""
        graph = llama(context=self.context, layers=self.layers) if self.layers else workload("softmax")
        machine = load_machine("sn40l", dict(self.values))
        try:
            return summarize(run_plan(lower(graph, machine, members=self.members, **dict(self.options))))
        except UserError as error:
            return str(error)


def neighbours(random: Random) -> Iterator[Point]:
    """A random point, and points that differ from it in one respect each."""
    options = {
        "mode": random.choice(("fused", "looped")),
        "orchestration": random.choice(("hardware", "software")),
        "collectives": random.choice(("overlapped", "separate")),
    }
    point = Point(random.choice((16, 17)), random.choice((3, 4)), random.choice((1, 2)), (), tuple(options.items()))
    yield point
    yield replace(point, context=33 - point.context)
    yield replace(point, members=3 - point.members)
    name = random.choice(sorted(CHANGED))
    yield replace(point, values=((name, random.choice(CHANGED[name])),))
    yield replace(point, options=(*point.options[1:], ("mode", "operator")))


def forget_plans() -> None:
    """Empty the memos of what plans are made of."""
    for memo in memos():
        if memo.__module__.startswith(OF_PLANS):
            memo.cache_clear()


def test_what_points_leave_behind_does_not_show() -> None:
    random = Random(1)
    points = [*neighbours(random), *neighbours(random)]
    # Placing and routing takes long: of a small graph, beside the same by formula.
    points += [Point(0, 0, 1, (), (("mode", "fused"), ("placement", how))) for how in ("estimate", "full")]
    forget_plans()
    found = [point.report() for point in points]
    again = {point: point.report() for point in random.sample(points, len(points))}
    assert sum(isinstance(report, Report) for report in found) > len(points) // 2
    for point, report in zip(points, found, strict=True):
        forget_plans()
        assert report == point.report(), point
        assert report == again[point], point


def test_a_run_without_spans_has_the_same_numbers() -> None:
    machine = load_machine("sn40l", {"pmus": "40"})
    for mode in ("fused", "looped"):
        plan = lower(llama(), machine, mode=mode)
        assert brief(run_plan(plan, spans=False)) == brief(run_plan(plan))

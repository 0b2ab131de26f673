"""The nearest change of an infeasible point: made, it makes the point feasible, and one more does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from experiments.point import Point
from experiments.sweep.engine import plan_of
from experiments.sweep.greatest import greatest
from experiments.sweep.row import row_of
from patterns.errors import DoesNotFit

NUMBER = r"(?P<value>[\d,]+)"
FORMS = (
    rf"{NUMBER} members?",
    rf"a (?P<size>batch|context) of at most {NUMBER}",
    rf"(?P<extent>\w+) of at most {NUMBER}",
    rf"{NUMBER} (?P<counted>stage|CTA)s?",
    rf"(?P<option>\w+) {NUMBER}",
)


def of(workload: str, machine: str, options: Mapping[str, int], **extents: int) -> Point:
    """A point with these options and extents."""
    fixed = tuple((name, str(value)) for name, value in options.items())
    return Point(workload, machine, options=fixed, settings=tuple((f"graph.{n}", str(v)) for n, v in extents.items()))


def changes(point: Point, told: str, more: int = 0) -> Iterator[Point]:
    """The point with each change that is told, sizes greater by `more`."""
    assert told.endswith(" would do"), told
    for way in told.rpartition("; ")[2].removesuffix(" would do").split(" or "):
        found = next(match for form in FORMS if (match := re.fullmatch(form, way)))
        value, parts = int(found["value"].replace(",", "")), found.groupdict()
        if size := parts.get("size"):
            yield replace(point, batch=value + more) if size == "batch" else replace(point, context=value + more)
        elif extent := parts.get("extent"):
            yield replace(point, settings=with_value(point.settings, f"graph.{extent}", value + more))
        elif more:
            continue
        elif option := parts.get("option") or {"stage": "stages", "CTA": "ctas"}.get(parts.get("counted", "")):
            yield replace(point, options=with_value(point.options, option, value))
        else:
            yield replace(point, members=value)


def with_value(pairs: tuple[tuple[str, str], ...], name: str, value: int) -> tuple[tuple[str, str], ...]:
    """The pairs with another value of a name that they have."""
    assert name in dict(pairs)
    return tuple((key, str(value) if key == name else text) for key, text in pairs)


TILE = {"tile_m": 256, "tile_n": 256}
LARGE = [
    Point("llama-3.1-70b", "h100_sxm", context=8192),
    Point("llama-3.1-8b", "h100_sxm", batch=512, context=32768),
    Point("llama-3.1-8b", "h100_sxm", "operator", batch=4, context=1_000_000),
    Point("llama-3.1-405b", "a100_sxm", context=8192),
    Point("llama-3.1-8b", "sn40l", "looped", members=32),
    # No member can share these graphs.
    of("softmax", "h100_sxm", {}, rows=10**9),
    of("softmax", "h100_sxm", {}, rows=64, columns=10**9),
    of("gemm", "sn10", {}, m=10**6, n=10**6),
    # Less than both memories hold together: each tensor lies in one.
    of("softmax", "sn40l", {}, rows=10**10),
]
FIXED = [
    of("gemm", "h100_sxm", {**TILE, "stages": 9}),
    of("gemm", "h100_sxm", {**TILE, "warpgroups": 1}),
    of("gemm", "h100_sxm", {"ctas": 40}),
]


@pytest.mark.parametrize("point", [*LARGE, *FIXED], ids=str)
def test_the_nearest_change_makes_it_feasible(point: Point) -> None:
    row = row_of(point, ())
    assert row.status == "infeasible"
    changed = list(changes(point, row.nearest))
    assert changed
    for feasible in changed:
        assert plan_of(feasible, "").calls
    for greater in changes(point, row.nearest, more=1):
        with pytest.raises(DoesNotFit):
            plan_of(greater, "")


def test_a_state_that_lies_in_one_memory_is_not_taken_for_all_that_is_held() -> None:
    point = Point("llama-3.1-8b", "sn40l", batch=390, context=32768)
    row = row_of(point, ())
    # 390 caches and the weights are less than both memories hold, and half the caches more than DDR has left.
    assert "'v_cache' (states) on sn40l" in row.message
    assert row.nearest == "2 members or a batch of at most 384 would do"


def test_what_there_is_too_little_of_is_told_in_a_unit_that_shows_it() -> None:
    point = of("softmax", "h100_sxm", {}, rows=4096)
    row = row_of(replace(point, settings=(*point.settings, ("gpu.hbm_bytes", "1 MB"))), ())
    # Two tensors of 4,096 columns of 2 bytes: 61 rows of them are 999,424 bytes.
    told = "67.1 MB of cache, inputs and outputs, 1.0 MB there are; rows of at most 61 would do"
    assert (row.needed, row.nearest) == (2 * 4096 * 4096 * 2, told)


def test_where_no_single_change_would_do_that_is_told() -> None:
    row = row_of(Point("llama-3.1-70b", "h100_sxm", batch=64, context=131072), ())
    assert row.nearest.endswith("; neither more members nor smaller sizes alone would do")


@pytest.mark.parametrize("limit", [0, 1, 5, 6, 99, 100, 777])
@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_greatest_size_that_fits_is_found_whatever_the_curve(limit: int, power: int) -> None:
    tried: list[int] = []

    def bytes_of(size: int) -> int:
        return 7 + 3 * size**power

    def fits(size: int) -> bool:
        tried.append(size)
        return bytes_of(size) <= bytes_of(limit)

    assert greatest(fits, bytes_of, 1000, bytes_of(limit)) == (limit or None)
    assert power > 1 or len(tried) <= 3


def test_sizes_that_cannot_be_had_are_passed_over() -> None:
    assert greatest(lambda size: size % 4 in (0, 1) and size <= 42, lambda size: size, 100, 43) == 41
    assert greatest(lambda size: size == 1, lambda _: None, 100, 50) == 1

"""Candidates that are left out by their bounds are none that would be chosen or told of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from gpu_model import load_machine, lower
from gpu_model.asked import Asked, Chosen
from gpu_model.choice import candidates
from gpu_model.choice.bounds import least_cycles
from gpu_model.choice.found import Rank
from gpu_model.kernel_machine import in_clock, least_in_clock, loaded_clock_hz
from gpu_model.machine import Machine
from gpu_model.products import combine
from gpu_model.schedule import gains_by_slots, has_bound, runs, schedule_named, schedule_names
from gpu_model.tiles.tile import targets_of
from gpu_model.work import Choice, Use, Wave, Work
from patterns.errors import UserError
from patterns.library import workload
from tests.memos import forget

MACHINES = ("v100", "a100_sxm", "h100_sxm", "b200")
BOUND = [name for name in schedule_names()[1:] if has_bound(schedule_named(name))]
# Few tiles and many, clusters or none, steps that a context has whole or not, splits, and a mask that leaves tiles
# different steps.
KERNELS = (
    ("gqa_decode", {"batch": 1, "context": 333}),
    ("gqa_decode", {"batch": 3, "context": 5000}),
    ("gqa_decode", {"batch": 8, "context": 3000}),
    ("gqa_decode", {"batch": 7, "context": 20000}),
    ("gqa_decode", {"batch": 40, "context": 20000}),
    ("attention", {"context": 700}),
    ("gemm", {"m": 16, "n": 4096, "k": 8192}),
    ("gemm", {"m": 1000, "n": 3000, "k": 512}),
    ("gemm", {"m": 512, "n": 1024, "k": 8192}),
    ("gemm_bias_act", {}),
    ("softmax", {"rows": 500, "columns": 5000}),
    ("softmax", {"rows": 3, "columns": 100_000}),
    ("add_rms_norm", {"rows": 77}),
    ("kv_cache_int8", {}),
)


def attention_work(random: Random) -> Work:
    """A step of two products with a softmax between, loads from short to long, one wave or two."""

    def wave(tiles: int) -> Wave:
        unit = random.choice(("load", "hbm"))
        load = Use(unit, random.randint(0, 4000), "load")
        store = Use(random.choice((unit, "store")), random.randint(10, 3000), "store")
        return Wave(tiles, load, store, held=Use(unit, random.randint(0, 300), "queries"))

    use = random.randint
    units = ("tc", "special", "vector", "tc")
    return Work(
        name="random",
        waves=tuple(wave(use(1, 4)) for _ in range(use(1, 2))),
        steps=use(1, 40),
        slot_bytes=32 * 1024,
        held_bytes=use(1, 2) * 1024,
        step=tuple(Use(unit, use(1, 1500), unit) for unit in units),
        finish=(Use("vector", use(1, 500), "vector"),),
        latency_cycles=use(0, 1500),
        accumulators=12288,
        row_blocks=use(1, 3),
        score_values=4096,
        transposed_bytes=random.choice((0, 0, 4096)),
    )


@pytest.mark.parametrize("name", BOUND)
def test_no_prediction_is_below_its_bound_and_slots_only_help(name: str) -> None:
    schedule, random = schedule_named(name), Random(3)
    machines = [machine for machine in map(load_machine, MACHINES) if runs(name, machine)]
    for _ in range(150):
        work, machine = attention_work(random), random.choice(machines)
        choice = Choice(loader=schedule.LOADERS[0], warpgroups=random.choice(schedule.WARPGROUPS))
        counts = schedule.slot_counts(8)
        cycles = [schedule.predict(work, replace(choice, slots=slots), machine) for slots in counts]
        assert cycles == sorted(cycles, reverse=True) or not gains_by_slots(schedule)
        assert min(cycles) >= least_cycles((name,), (choice.loader,), work, machine)[0] > 0


@pytest.mark.parametrize("machine", MACHINES)
def test_no_candidate_ranks_before_its_bounds(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[tuple[Rank, Rank, Rank]] = []
    search = candidates._found

    def told(asked: Asked, names: tuple[str, ...], tried: Sequence[Any], of: Machine, clock_hz: int) -> Any:
        for tiled in tried:
            moving, close = (
                candidates._bounds(asked, tiled, names, of, clock_hz, moving=moving) for moving in (True, False)
            )
            for one in candidates._scheduled(asked, names, tiled, of, clock_hz):
                if one.misfit is None:
                    name, rank = one.schedule, (one.predicted_cycles, -one.choice.slots)
                    bounds.append((moving[name], close[name], rank))
        return search(asked, names, tried, of, clock_hz)

    monkeypatch.setattr(candidates, "_found", told)
    forget()
    for name, extents in KERNELS:
        with suppress(UserError):
            lower(workload(name, overrides=extents), load_machine(machine))
    forget()
    assert all(moving <= rank and close <= rank for moving, close, rank in bounds)
    assert any(0 < moving[0] < close[0] for moving, close, _ in bounds)


@pytest.mark.parametrize("machine", MACHINES)
def test_what_a_schedule_takes_does_not_depend_on_those_tried_with_it(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plans() -> list[object]:
        forget()
        found = (lower(workload(name, overrides=extents), load_machine(machine)) for name, extents in kernels)
        return [(call.schedule, call.tiling, call.program) for plan in found for call in plan.calls]

    def apart(asked: Asked, names: tuple[str, ...], *about: Any) -> Iterator[Chosen]:
        return (one for name in names for one in together(asked, (name,), *about))

    kernels = (("gemm", {"m": 16, "n": 4096, "k": 8192}), ("gemm", {"m": 1000}), ("gqa_decode", {"context": 5000}))
    together, expected = candidates._scheduled, plans()
    monkeypatch.setattr(candidates, "_scheduled", apart)
    assert plans() == expected
    forget()


@pytest.mark.parametrize("machine", MACHINES)
def test_plans_are_those_of_all_candidates(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def plans() -> list[object]:
        forget()
        found: list[object] = []
        for name, extents in KERNELS:
            try:
                found.append(lower(workload(name, overrides=extents), load_machine(machine)))
            except UserError as error:
                found.append(str(error))
        return found

    pruned = plans()
    monkeypatch.setattr(candidates.Found, "rules_out", lambda *about: False)
    monkeypatch.setattr(candidates, "gains_by_slots", lambda schedule: False)
    monkeypatch.setattr(combine, "_least_split", lambda *about: 0)
    assert pruned == plans()


@pytest.mark.parametrize(
    ("machine", "policy"),
    [("a100_sxm", "library"), ("h100_sxm", "operator"), ("b200", "library"), ("h100_sxm", "auto")],
)
def test_without_reasons_only_these_are_missing(machine: str, policy: str) -> None:
    kernels = KERNELS if policy == "library" else KERNELS[1:3]
    found, told = [], 0
    for reasons in (False, True):
        forget()
        for name, extents in kernels:
            try:
                plan = lower(workload(name, overrides=extents), load_machine(machine), policy=policy, reasons=reasons)
            except UserError as error:
                found.append(str(error))
                continue
            told += any(call.schedule_reason for call in plan.calls if reasons)
            found.append(replace(plan, calls=tuple(replace(call, schedule_reason="") for call in plan.calls)))
    assert found[: len(kernels)] == found[len(kernels) :]
    assert told


@pytest.mark.parametrize("machine", MACHINES)
def test_no_split_takes_less_than_its_bound(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds, totals = dict[int, int](), dict[int, int]()
    least = combine._least_split

    def told(asked: Asked, other: Chosen, parts: int, of: Machine, gap: int) -> int:
        bounds[parts] = least(asked, other, parts, of, gap)
        split = combine.choose(asked, of, [replace(aim, parts=parts) for aim in targets_of(asked, of)])
        totals[parts] = split.predicted_cycles + combine.fastest_combine(split, of).predicted_cycles + gap
        return 0

    monkeypatch.setattr(combine, "_least_split", told)
    forget()
    for batch, context in ((1, 20_000), (2, 9_000), (4, 33_333), (8, 3_000)):
        lower(workload("gqa_decode", overrides={"batch": batch, "context": context}), load_machine(machine))
        known = [parts for parts, bound in bounds.items() if bound]
        assert known
        assert all(bounds[parts] <= totals[parts] for parts in known)
    forget()


def test_fewer_cycles_of_a_clock_that_goes_up_in_steps() -> None:
    machine = load_machine("h100_sxm")
    for flops in (0, 10**9, 4 * 10**10, 9 * 10**11):
        load = (flops, machine.bf16_flops_per_cycle)
        times = [
            in_clock(cycles, loaded_clock_hz(machine, *load, cycles), machine.clock_hz)
            for cycles in range(60_000, 90_000, 7)
        ]
        for first in range(0, len(times), 400):
            least = least_in_clock(machine, *load, 60_000 + 7 * first, machine.clock_hz)
            assert times[first] * 0.97 < least <= min(times[first:])

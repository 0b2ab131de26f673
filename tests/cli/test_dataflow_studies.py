"""Sentences of the studies of calls, fusion and memories follow their numbers; their forms are right by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from experiments.point import Point, run_point
from experiments.studies import (
    batch_and_context_crossover,
    fuse_what,
    intermediates,
    kernel_looping,
    memory_that_changes_the_winner,
    nested_matmul_metapipeline,
    transpose_breaks_fusion,
    unbalanced_stages,
)
from experiments.studies.batch_and_context_crossover import Match
from experiments.studies.memory_that_changes_the_winner import SWEEPS, Swept
from experiments.studies.nested_matmul_metapipeline import DRAINED, STREAMED, Matmul

Record = dict[str, object]


def crossover_rows(*line: tuple[int, float, int | None]) -> list[Record]:
    """Rows of one batch, each a context, a ratio, and the last context before the winner changes."""
    return [
        {
            "against": "a",
            "batch": 1,
            "context": context,
            "speed_ratio": ratio,
            "last_context": last,
            "energy_ratio": None,
        }
        for context, ratio, last in line
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            ((512, 1.2, 700), (1024, 0.8, None)),
            "faster in 1 of 2 points (at contexts up to 700 at batch 1), 0.80 to 1.20",
        ),
        (
            ((512, 0.8, 700), (1024, 1.2, None)),
            "faster in 1 of 2 points (at contexts from 701 on at batch 1), 0.80 to 1.20",
        ),
        (((512, 0.8, 700), (1024, 1.2, 1100), (2048, 0.9, None)), "(at contexts from 701 to 1,100 at batch 1)"),
        (
            ((512, 1.2, 700), (1024, 0.8, 1100), (2048, 1.1, None)),
            "(at contexts up to 700 and from 1,101 on at batch 1)",
        ),
        (((512, 0.8, None), (1024, 0.7, None)), "faster in 0 of 2 points, 0.70 to 0.80 times"),
    ],
)
def test_the_crossover_is_told_from_the_side_on_which_the_rdu_is_ahead(
    line: tuple[tuple[int, float, int | None], ...], told: str
) -> None:
    assert told in batch_and_context_crossover.details(crossover_rows(*line))


def between(low: int, high: int | None) -> Match:
    """A step at one context, with the next of its grid."""
    points = (Point("softmax", machine, context=low) for machine in ("h100_sxm", "sn40l"))
    return Match(*points, until=high)


def asked_of(monkeypatch: pytest.MonkeyPatch, rdu_s: Callable[[int], float]) -> list[int]:
    """The contexts that the study asks for from now on, of a GPU that takes 1 s and an RDU that takes so long."""
    asked: list[int] = []

    def both_s(case: Match, context: int) -> tuple[float, float] | None:
        asked.append(context)
        return (1.0, rdu_s(context)) if context <= 10_000 else None

    monkeypatch.setattr(batch_and_context_crossover, "both_s", both_s)
    return asked


def test_the_winner_changes_between_two_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    turning = batch_and_context_crossover.turning
    asked = asked_of(monkeypatch, lambda context: context / 1234)
    # As fast at 1,234 is not faster: 1,233 is the last at which the RDU is.
    assert turning(between(512, 2048)) == turning(between(1233, 1234)) == 1233
    assert {1233, 1234} <= set(asked)
    same = ((1232, 1233), (1234, 2048), (512, 20_000), (512, None))
    assert [turning(between(*ends)) for ends in same] == [None] * len(same)


@pytest.mark.parametrize("after", [1.0001, 100.0])
@pytest.mark.parametrize("last", [513, 1000, 8190, 8191])
def test_a_step_is_found_in_few_runs(last: int, after: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of(monkeypatch, lambda context: 0.5 if context <= last else after)
    assert batch_and_context_crossover.turning(between(512, 8192)) == last
    assert len(set(asked)) < 2 * 13


def test_a_point_of_the_crossover_is_that_of_a_whole_run() -> None:
    point = Point("softmax", "h100_sxm", "library")
    found, whole = batch_and_context_crossover.simulated(point), run_point(point).report
    assert found is not None
    assert (found.time_ps, found.energy) == (whole.time_ps, whole.energy)


def test_where_the_winner_changes_is_bisected(monkeypatch: pytest.MonkeyPatch) -> None:
    study = memory_that_changes_the_winner
    parameter, machine, what, _, steps = SWEEPS[0]
    # The GPU takes 1 s, the RDU 2 s at its own bandwidth and less with more.
    monkeypatch.setattr(study, "both_s", lambda case: (1.0, 2.0 / case.times_own))
    case = Swept(steps[0], parameter, machine, what, 1.0, (0.5, 1.0, 3.0, 5.0))
    assert study.turning(case) == pytest.approx(2.0, rel=study.CLOSE - 1)
    assert study.turning(Swept(steps[0], parameter, machine, what, 1.0, (0.5, 1.0, 1.5))) is None


def memory_rows(ratios: tuple[float, ...], turn: float | None) -> list[Record]:
    return [
        {
            "memory": "HBM",
            "step": "a step",
            "times_own": times,
            "value": f"{2 * times:.3f} TB/s",
            "speed_ratio": ratio,
            "turns_at_times_own": turn,
        }
        for times, ratio in zip((0.5, 1.0, 2.0), ratios, strict=True)
    ]


def test_the_sentence_about_memories_names_who_is_ahead() -> None:
    finding, details = memory_that_changes_the_winner.finding, memory_that_changes_the_winner.details
    turned = details(memory_rows((0.4, 0.8, 1.2), 1.5))
    assert "both are as fast at 3.00 TB/s (1.50 times its own; now h100_sxm is 1.25 times as fast) in a step" in turned
    assert "No HBM from" not in turned
    stayed = details(memory_rows((1.1, 1.25, 1.5), None))
    assert "No HBM from 1.000 TB/s to 4.000 TB/s changes the winner of a step (sn40l is 1.10 to 1.50 times" in stayed
    assert "HBM at 3.00 TB/s (1.50 times its own) in a step." in finding(memory_rows((0.4, 0.8, 1.2), 1.5))
    assert finding(memory_rows((1.1, 1.25, 1.5), None)) == "No HBM that was tried changes a winner."


@pytest.mark.parametrize(("pipe", "cycles"), [(DRAINED, (10 + 26) + 26), (STREAMED, 10 + 12 + 2 * 7 + 3 * 7)])
def test_the_forms_of_nested_pipes_are_right_by_hand(pipe: str, cycles: int) -> None:
    # Two rows of three tiles; load A 10, load B 4, product 7, store 1: an inner pipe alone takes 12 + 2 * 7.
    times = {"load A": 10, "load B": 4, "product": 7, "store C": 1}
    assert nested_matmul_metapipeline.closed_form(Matmul(2, 3, pipe), times) == cycles


def test_stage_times_are_those_of_the_machine() -> None:
    from rdu_model import load_machine

    # 128 blocks of 16 x 8 on 64 PCUs: two each, 4096 / 2 cycles a block, and 12 to start; B: 512 KiB by 4 x 64 bytes.
    times = nested_matmul_metapipeline.stage_cycles(Matmul(1, 1, STREAMED, pcus=64), load_machine("sn40l"))
    assert (times["product"], times["load B"]) == (2 * 2048 + 12, 2048)


def looped_rows(gains: tuple[float, ...]) -> list[Record]:
    return [
        {
            "launched_by": "hardware",
            "run": f"run {place}",
            "sockets": 1,
            "batch": 1,
            "gain": gain,
            "fused_calls": 34,
            "looped_calls": 3,
            "looped_ms": 1.0 + place,
            "saved_us_a_call": 26.0,
        }
        for place, gain in enumerate(gains)
    ]


def test_looping_gains_with_short_layers_only_where_it_does() -> None:
    assert "so short layers gain most" in kernel_looping.finding(looped_rows((1.9, 1.5, 1.1)))
    assert "yet short layers need not gain most" in kernel_looping.finding(looped_rows((1.1, 1.5, 1.9)))


@pytest.mark.parametrize(("calls", "told"), [(1, "auto turns tiles inside one kernel"), (2, "no policy here")])
def test_whether_a_gpu_gets_round_another_order_is_counted(calls: int, told: str) -> None:
    study = transpose_breaks_fusion
    rows = [
        {
            "operators": "two",
            "access": access,
            "machine": machine,
            "mode": mode,
            "calls": calls if mode == "auto" else 2,
            "hbm_mb": 100.0,
            "time_us": 10.0,
        }
        for machine, mode in study.MODES
        for access in (study.PLAIN, study.TURNED)
    ]
    assert told in study.details(rows)
    assert "on h100_sxm library 1.00 times the bytes and 1.00 times the time, in 2 calls" in study.finding(rows)


def test_what_passes_between_calls_is_counted_by_hand() -> None:
    import gpu_model
    from patterns.count import compulsory
    from patterns.library import workload

    graph = workload("softmax", overrides={"rows": 64, "columns": 32})
    plan = gpu_model.lower(graph, gpu_model.load_machine("unit"), policy="pattern")
    passed = sum(intermediates.passed_bytes(plan, call) for call in plan.calls) - compulsory(graph).total_bytes
    # e is written once and read twice, s written and read once, both in two bytes.
    assert passed == 3 * 64 * 32 * 2 + 2 * 64 * 2


def test_a_step_of_fusion_that_loses_time_is_told() -> None:
    def row(fusion: str, time_us: float, saved_us: float, calls: int) -> Record:
        numbers = {"time_us": time_us, "bound_us": 50.0, "saved_us": saved_us, "calls": calls, "saved_mb": 1.0}
        return {"model": "m", "fusion": fusion, "saved_calls": 1, "saved_us_a_call": 2.0, **numbers}

    rows = [row("none", 100.0, 0.0, 9), row("some", 80.0, 20.0, 5), row("all", 90.0, -10.0, 1)]
    told = fuse_what.details(rows)
    assert "'all' loses 10 us" in told
    assert "80 us (some), 40 % of the way to its bound; most comes with 'some' (20 us" in told
    assert "takes away 40 % in m (some). The largest step is 'some' in m." in fuse_what.finding(rows)


def test_equal_stages_would_be_as_many_times_faster_as_there_are() -> None:
    assert unbalanced_stages.slowest(dict.fromkeys((f"{s}_cycles" for s in unbalanced_stages.STAGES), 7)) == 7
    assert dict(unbalanced_stages.same(3)) == dict.fromkeys(unbalanced_stages.STAGES, 3)

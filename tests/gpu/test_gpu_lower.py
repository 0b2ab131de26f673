"""Mistakes in what is asked are told before any work, and what a plan says of itself is there to read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import gpu_model
from gpu_model import load_machine, lower, schedule_names
from patterns.errors import UnknownName, UserError
from patterns.library import workload

UNIT = load_machine("unit")


def test_facade() -> None:
    for name in ("lower", "load_machine", "machine_names", "policy_names", "schedule_names", "launch_names"):
        assert callable(getattr(gpu_model, name))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = gpu_model.nothing


def test_schedules_are_the_files_and_auto() -> None:
    files = sorted(path.stem for path in (Path(gpu_model.__file__).parent / "schedules").glob("[a-z]*.py"))
    assert schedule_names() == ("auto", *files)
    assert {"multistage", "streaming", "synchronous", "warp_specialized"} < set(files)


def test_unknown_policy() -> None:
    with pytest.raises(UnknownName, match=r"unknown policy 'libary' .did you mean 'library'\?.; there is: .*library"):
        lower(workload("softmax"), UNIT, policy="libary")


def test_unknown_schedule() -> None:
    with pytest.raises(
        UnknownName, match=r"unknown schedule 'multi_stage' .did you mean 'multistage'\?.; there is: .*auto"
    ):
        lower(workload("gemm"), UNIT, schedule="multi_stage")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stage": 3}, r"unknown option 'stage' .did you mean 'stages'"),
        ({"stages": 0}, "option stages must be a whole number greater than 0, is 0"),
        ({"tile_m": "-4"}, "option tile_m must be a whole number greater than 0, is '-4'"),
        ({"tile_n": "1.5"}, "option tile_n must be a whole number"),
        ({"loader": "dma"}, "unknown loader of warp_specialized 'dma' .* there is: cp_async, tma"),
    ],
)
def test_options_are_checked(options: Mapping[str, int | str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        lower(workload("gemm"), UNIT, schedule="warp_specialized", options=options)


def test_options_may_be_text() -> None:
    as_text = lower(workload("gemm"), UNIT, schedule="multistage", options={"stages": "3", "tile_m": " 64 "})
    as_numbers = lower(workload("gemm"), UNIT, schedule="multistage", options={"stages": 3, "tile_m": 64})
    assert as_text == as_numbers
    assert as_text.calls[0].schedule.startswith("multistage (3 slots, cp_async")


def test_names_of_calls_are_unique() -> None:
    for policy in gpu_model.policy_names():
        names = [call.name for call in lower(workload("llama-3.1-8b"), load_machine("h100_sxm"), policy=policy).calls]
        assert len(set(names)) == len(names)


def test_the_same_question_has_the_same_answer() -> None:
    graph, machine = workload("llama-3.1-8b"), load_machine("h100_sxm")
    assert lower(graph, machine) == lower(graph, machine)


def test_a_kernel_on_the_unit_machine_on_paper() -> None:
    # 4 x 8 bf16 values are squared... one tile: 64 bytes arrive, 1 + 1 ops for each exp, 64 bytes leave, over one HBM
    # of a byte a cycle: 64 + 32 (special) + 32 (vector) + 64 = 192 cycles.
    graph = workload("softmax", overrides={"rows": "4", "columns": "8"})
    plan = lower(graph, UNIT, policy="pattern")
    from patterns.pipeline.simulate import simulate

    assert plan.calls[0].nodes == ("e",)
    assert simulate(plan.calls[0].program).total_cycles == 192

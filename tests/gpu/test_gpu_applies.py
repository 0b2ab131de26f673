"""Schedules asked of graphs that have no kernel for them, and tiles at the edges of what is sensible."""

from __future__ import annotations

import re

import pytest

from gpu_model import load_machine, lower
from gpu_model.loader import loader_named, loader_names
from gpu_model.price import mma
from patterns.errors import UnknownName, UserError
from patterns.library import workload
from patterns.pipeline.simulate import simulate

H100 = load_machine("h100_sxm")


@pytest.mark.parametrize(
    ("graph", "schedule", "message"),
    [
        ("softmax", "pingpong", "schedule pingpong runs matrix products, and softmax has none"),
        ("softmax", "attention_both", "schedule attention_both runs attention, .* and softmax has none"),
        ("gemm", "one_shot", "schedule one_shot runs sums over GPUs, and gemm has none"),
    ],
)
def test_a_schedule_for_which_a_graph_has_no_node_is_refused(graph: str, schedule: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        lower(workload(graph), H100, schedule=schedule)


def test_a_schedule_that_no_kernel_of_a_policy_uses_is_told() -> None:
    plan = lower(workload("attention"), H100, policy="pattern", schedule="attention_both")
    assert any("no kernel is one here, so all are as auto chooses" in warning for warning in plan.warnings)
    assert not lower(workload("gemm"), H100, schedule="multistage").warnings
    assert not lower(workload("softmax"), H100, schedule="streaming").warnings


@pytest.mark.parametrize("policy", ["library", "epilogue"])
def test_what_a_named_schedule_does_not_run_is_as_auto_chooses(policy: str) -> None:
    # A skinny product is split where nothing is named, and a wide one multicast.
    for extents in ({}, {"m": 8192, "n": 8192, "k": 8192}):
        graph = workload("gemm", overrides=extents)
        auto, named = (lower(graph, H100, policy=policy, schedule=name) for name in ("auto", "attention_both"))
        assert [(c.schedule, c.tiling) for c in named.calls] == [(c.schedule, c.tiling) for c in auto.calls]


def test_the_option_that_no_schedule_can_have_is_named() -> None:
    with pytest.raises(UserError, match="can have dma_warps 4 on h100_sxm; name a schedule"):
        lower(workload("gemm"), H100, options={"dma_warps": 4})


def test_a_gpu_without_a_schedule_for_a_kernel_is_refused_with_its_features() -> None:
    bare = load_machine("h100_sxm", {"features": "[bf16, fp8]"})
    with pytest.raises(UserError, match=r"h100_sxm has no schedule for attention, .*; its features: bf16, fp8"):
        lower(workload("attention"), bare)


@pytest.mark.parametrize(
    ("extents", "options"),
    [
        ({"m": 100, "n": 200, "k": 300}, {"tile_m": 64, "tile_n": 64}),
        ({"m": 128, "n": 128, "k": 1}, {}),
        ({"m": 1, "n": 1, "k": 1}, {}),
        ({"m": 1, "n": 4096, "k": 4096}, {"tile_m": 64}),
        ({"m": 100, "n": 30, "k": 64}, {"tile_m": 256, "tile_n": 256}),
    ],
)
@pytest.mark.parametrize("name", ["v100", "a100_sxm", "h100_sxm", "b200"])
def test_tiles_that_do_not_divide_and_k_of_one(name: str, extents: dict[str, int], options: dict[str, int]) -> None:
    calls = lower(workload("gemm", overrides=extents), load_machine(name), options=options).calls
    flops = 2 * extents["m"] * extents["n"] * extents["k"]
    assert sum(dict(call.work)["matrix_flops"] for call in calls) >= flops
    assert all(simulate(call.program).total_cycles > 0 for call in calls)


def test_padding_is_counted_as_work() -> None:
    # One row is padded to the eight columns of the instruction, whose 64 rows the other operand fills.
    assert mma(H100, 1, 64, 64, "bf16").flops == 8 * 2 * 64 * 64
    assert mma(load_machine("a100_sxm"), 1, 64, 64, "bf16").flops == 8 * 2 * 64 * 64
    assert mma(load_machine("b200"), 1, 64, 64, "bf16").flops == 16 * 2 * 128 * 64


# 48 KiB: by TMA one instruction; by cp.async 512 bytes each; through registers a load and a store for each.
@pytest.mark.parametrize(
    ("name", "instructions", "through"),
    [("tma", 1, ("smem",)), ("cp_async", 96, ("l1", "smem")), ("registers", 192, ("l1", "registers", "smem"))],
)
def test_loaders_say_their_instructions_and_levels(name: str, instructions: int, through: tuple[str, ...]) -> None:
    loader = loader_named(name)
    assert loader.instructions(H100, 48 * 1024) == instructions
    assert tuple(loader.THROUGH) == through
    assert loader_names() == ("cp_async", "registers", "tma")


@pytest.mark.parametrize(
    ("name", "options", "used"),
    [
        ("b200", {"loader": "cp_async"}, "cp_async"),
        ("b200", {"loader": "tma"}, "tcgen05"),
        ("h100_sxm", {"loader": "registers"}, "registers"),
        ("h100_sxm", {"layout": "padded"}, "cp_async, padded operands"),
    ],
)
def test_auto_takes_a_schedule_that_can_do_what_was_fixed(name: str, options: dict[str, str], used: str) -> None:
    calls = lower(workload("gemm"), load_machine(name), options=options).calls
    assert used in calls[0].schedule


def test_what_no_schedule_of_auto_can_is_told() -> None:
    with pytest.raises(UserError, match=r"none of cooperative, .* can have loader tma on a100_sxm; name a schedule"):
        lower(workload("gemm"), load_machine("a100_sxm"), options={"loader": "tma"})
    with pytest.raises(UnknownName, match="unknown loader 'dma'"):
        lower(workload("gemm"), H100, options={"loader": "dma"})
    with pytest.raises(UnknownName, match=r"unknown layout 'swizzle' .did you mean 'swizzled'"):
        lower(workload("gemm"), H100, options={"layout": "swizzle"})


@pytest.mark.parametrize("policy", ["library", "auto"])
@pytest.mark.parametrize("head_dim", [1000, 4096])
def test_attention_that_no_schedule_has_room_for_is_not_fused(policy: str, head_dim: int) -> None:
    plan = lower(workload("attention", overrides={"head_dim": head_dim}), H100, policy=policy)
    assert len(plan.calls) > 2
    assert all(simulate(call.program).total_cycles > 0 for call in plan.calls)
    if policy == "library":
        assert any("smallest tile does not fit: needs" in refusal.reason for refusal in plan.refusals)


def test_what_the_user_fixed_is_no_reason_against_fusing() -> None:
    with pytest.raises(UserError, match=r"with 40 slots does not fit: .* at most"):
        lower(workload("attention"), H100, schedule="attention_both", options={"stages": 40})


def test_options_that_no_kernel_has_a_use_for_are_told() -> None:
    told = "option tile_m is of matrix products and attention, .*; no kernel here has a use for it"
    for schedule in ("auto", "streaming"):
        (warning,) = lower(workload("softmax"), H100, schedule=schedule, options={"tile_m": 64}).warnings
        assert re.match(told, warning)
    assert not lower(workload("softmax"), H100, schedule="streaming", options={"stages": 3}).warnings
    assert lower(workload("softmax"), H100, options={"stages": 3}).warnings
    assert not lower(workload("gemm"), H100, options={"tile_m": 64, "splits": 2, "l2_keep": "b"}).warnings
    assert not lower(workload("attention"), H100, schedule="attention_both", options={"tile_k": 64}).warnings


def test_splits_are_nothing_to_a_schedule_of_equal_shares() -> None:
    (warning,) = lower(workload("gemm"), H100, schedule="stream_k", options={"splits": 4}).warnings
    assert warning == "schedule stream_k has no use for splits; split_k or auto would have"
    assert not lower(workload("gemm"), H100, schedule="split_k", options={"splits": 4}).warnings


@pytest.mark.parametrize(
    ("schedule", "option", "value", "told"),
    [
        ("register_double_buffer", "stages", 5, "slots 1 or 2, not 5"),
        ("synchronous", "stages", 4, "slots 1, not 4"),
        ("pingpong", "warpgroups", 2, "warpgroups 1, not 2"),
        ("cooperative", "warpgroups", 1, "warpgroups 2 or 3, not 1"),
    ],
)
def test_a_number_that_a_schedule_cannot_have_is_refused_with_those_it_can(
    schedule: str, option: str, value: int, told: str
) -> None:
    with pytest.raises(UserError, match=f"schedule {schedule} has {told}"):
        lower(workload("gemm"), H100, schedule=schedule, options={option: value})


def test_any_ring_that_fits_is_legal_and_auto_takes_what_can_have_a_number() -> None:
    for schedule in ("multistage", "warp_specialized", "cooperative", "auto"):
        assert "(5 slots" in lower(workload("gemm"), H100, schedule=schedule, options={"stages": 5}).calls[0].schedule
    with pytest.raises(UserError, match=r"none of .* can have warpgroups 7 on h100_sxm; name a schedule"):
        lower(workload("gemm"), H100, options={"warpgroups": 7})

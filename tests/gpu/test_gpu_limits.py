"""Each limit of a GPU by itself: a kernel that this one alone refuses, and that fits as soon as it is lifted."""

from __future__ import annotations

import pytest

from gpu_model import load_machine, lower
from gpu_model.fit import misfit
from gpu_model.work import Choice, CtaDemand, RoleDemand, Use, Wave, Work
from patterns.errors import DoesNotFit, UserError
from patterns.library import workload

NOTHING = Use("store", 0, "store")
WORK = Work("k", (Wave(1, NOTHING, NOTHING),), 1, 1024, (), (), 0)
GEMM = workload("gemm")


def roles(number: int, registers: int) -> tuple[RoleDemand, ...]:
    return tuple(RoleDemand(f"role {place}", 128, registers) for place in range(number))


@pytest.mark.parametrize(
    ("demand", "told", "lifted"),
    [
        (
            CtaDemand(roles(1, 64), 232_449, False),
            "needs 232,449 bytes of shared memory, there is 232,448",
            {"smem_bytes_per_cta": "232449 B"},
        ),
        (CtaDemand(roles(9, 24), 1024, False), "needs 1,152 threads, there is 1,024", {"threads_per_cta": 1152}),
        (CtaDemand(roles(1, 64), 1024, False, 0, 17), "needs 17 named barriers, there is 16", {"barriers_per_cta": 17}),
        (
            CtaDemand(roles(1, 64), 1024, False, 33),
            "needs 64 columns of tensor memory, there is 0",
            {"tmem_columns": 64},
        ),
        (
            CtaDemand(roles(1, 256), 1024, False),
            "needs 256 registers per thread, there is 255",
            {"most_registers_per_thread": 256},
        ),
        # Three warpgroups of 65,536 / 384 registers, in steps of 8, without setmaxnreg to move them.
        (
            CtaDemand(roles(3, 169), 1024, False),
            "needs 169 registers per thread, there is 168",
            {"registers_per_sm": 2 * 65_536},
        ),
    ],
)
def test_one_limit_alone_refuses_a_cta(demand: CtaDemand, told: str, lifted: dict[str, str]) -> None:
    assert told in str(misfit("k", demand, WORK, Choice(), load_machine("h100_sxm")))
    assert misfit("k", demand, WORK, Choice(), load_machine("h100_sxm", lifted)) is None


@pytest.mark.parametrize(
    ("schedule", "options", "limits", "told", "lifted"),
    [
        (
            "multistage",
            {"stages": 5, "tile_m": 128, "tile_n": 256},
            {},
            "needs 245,840 bytes of shared memory, there is 232,448",
            {"smem_bytes_per_cta": "245840 B"},
        ),
        (
            "warp_specialized",
            {"slots": 2, "warpgroups": 1, "tile_m": 128, "tile_n": 256},
            {},
            "the consumer of gemm.c does not fit: needs 288 registers per thread, there is 255",
            {"most_registers_per_thread": 512},
        ),
        ("warp_specialized", {"cluster": 2}, {"sm_count": 1}, "needs 2 SMs that lie together, there is 1", {}),
        ("auto", {}, {"hbm_bytes": "1 MB"}, "bytes of memory, there is 1,000,000", {}),
    ],
)
def test_one_limit_alone_refuses_a_plan(
    schedule: str, options: dict[str, int | str], limits: dict[str, str], told: str, lifted: dict[str, str]
) -> None:
    with pytest.raises(DoesNotFit, match=told):
        lower(GEMM, load_machine("h100_sxm", limits), schedule=schedule, options=options)
    assert lower(GEMM, load_machine("h100_sxm", lifted), schedule=schedule, options=options).calls


@pytest.mark.parametrize(
    ("schedule", "options", "told", "allowed"),
    [
        ("pingpong", {"warpgroups": 2}, "pingpong has warpgroups 1, not 2", {"warpgroups": 1}),
        ("cooperative", {"warpgroups": 1}, "cooperative has warpgroups 2 or 3, not 1", {"warpgroups": 3}),
        ("multistage", {"cluster": 2}, "multistage has cluster 1, not 2", {"cluster": 1}),
        ("warp_specialized", {"cluster": 3}, "warp_specialized has cluster 1 or 2, not 3", {"cluster": 2}),
        ("synchronous", {"slots": 2}, "synchronous has slots 1, not 2", {"slots": 1}),
        ("warp_specialized", {"dma_warps": 2}, "warp_specialized has dma_warps 1, not 2", {"dma_warps": 1}),
    ],
)
def test_a_schedule_has_what_it_can_have(
    schedule: str, options: dict[str, int | str], told: str, allowed: dict[str, int | str]
) -> None:
    with pytest.raises(UserError, match=told):
        lower(GEMM, load_machine("h100_sxm"), schedule=schedule, options=options)
    assert lower(GEMM, load_machine("h100_sxm"), schedule=schedule, options=allowed).calls


@pytest.mark.parametrize(
    ("parameters", "issued"),
    [
        # 65 x 65 x 17 fills up instructions of 64 rows, 8 columns and 16 in depth, whichever side is the rows.
        ({}, 2 * 128 * 72 * 32),
        ({"mma_rows": 65}, 2 * 65 * 72 * 32),
        ({"mma_columns": 13}, 2 * 128 * 65 * 32),
        ({"mma_inner_bytes": "34 B"}, 2 * 128 * 72 * 17),
    ],
)
def test_tiles_that_fill_no_instruction_issue_whole_ones(parameters: dict[str, str], issued: int) -> None:
    graph = workload("gemm", overrides={"m": 65, "n": 65, "k": 17})
    fixed: dict[str, int | str] = {"tile_m": 65, "tile_n": 65, "tile_k": 17}
    plan = lower(graph, load_machine("h100_sxm", parameters), schedule="warp_specialized", options=fixed)
    assert [dict(call.work)["matrix_flops"] for call in plan.calls] == [issued]

"""Schedules of matrix products as pseudo-code, read and found understandable; options from the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from gpu_model import load_machine
from gpu_model.schedule import schedule_named, splits_shared
from gpu_model.tiles.cluster import in_cluster
from gpu_model.work import Choice, Grid, Path, Task, Use, Wave, Work
from patterns.pipeline.listing import listing

# The lecture's SM with what later generations add to it, so that no fit of a machine moves these pages.
MACHINE = replace(
    load_machine("lecture_sm"),
    kernel_ramp_cycles=500,
    barrier_cycles=20,
    mma_wait_cycles=100,
    tmem_columns=512,
    remote_arrive_cycles=180,
    cluster_barrier_cycles=180,
    sm_count=4,
)
LOAD = Use("load", 768, "load", (("l2_bytes", 49_152),))
# The lecture's tile, 128 x 256: two of them, 16 steps each, of which B's 32 KiB are common to neighbours.
WORK = Work(
    name="gemm",
    waves=(Wave(2, LOAD, Use("store", 1024, "store"), Path(768, 1000, 0)),),
    steps=16,
    slot_bytes=49_152,
    step=(Use("tc", 1024, "mma", (("matrix_flops", 4_194_304),)),),
    finish=(Use("vector", 256, "convert"),),
    latency_cycles=700,
    accumulators=128 * 256,
    shared_bytes=32_768,
    sharing_tiles=8,
    row_blocks=2,
    # 5 tiles on 4 SMs, for those that share steps out: 20 each.
    grid=Grid(
        5,
        Wave(1, LOAD, Use("store", 1024, "store")),
        Use("store", 2048, "partial"),
        Use("load", 2048, "take"),
        Use("vector", 256, "add"),
    ),
)
SHOWN = {
    "register_double_buffer": Choice(2, loader="registers"),
    "multistage": Choice(3, loader="cp_async"),
    "warp_specialized": Choice(4),
    "cooperative": Choice(4, warpgroups=2),
    "pingpong": Choice(4),
    "stream_k": Choice(4),
    "split_k": Choice(4, splits=2),
    "tcgen05": Choice(4),
    "tcgen05_pair": Choice(6, cluster=2),
    "clustered": Choice(4, cluster=2),
    "cuda_dma": Choice(2, loader="cp_async", dma_warps=2),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_listing_is_as_it_was_read(name: str, golden: Callable[[str, str], None]) -> None:
    schedule, choice = schedule_named(name), SHOWN[name]
    work = in_cluster(WORK, choice.cluster, splits_shared(schedule))
    golden(f"gpu_listing_{name}.txt", listing(schedule.program(work, choice, MACHINE)))


def test_loads_by_registers_are_listed_for_each_set_of_warps(golden: Callable[[str, str], None]) -> None:
    choice = Choice(2, loader="registers", dma_warps=1)
    golden("gpu_listing_cuda_dma_registers.txt", listing(schedule_named("cuda_dma").program(WORK, choice, MACHINE)))


def test_nodes_of_a_kernel_are_listed_by_warp(golden: Callable[[str, str], None]) -> None:
    # A chain of four nodes with 200 constants each: no thread holds those of two, so each has a warp of its own.
    tasks = tuple(
        Task(
            name=name,
            uses=(Use("vector", 500, "vector"),),
            reads=(before,) if before else (),
            result_bytes=4096,
            constants=((f"constants of {name}", 200),),
            loads=not before,
            stores=name == "y",
        )
        for name, before in (("rates", ""), ("sums", "rates"), ("shares", "sums"), ("y", "shares"))
    )
    work = replace(WORK, step=(), finish=(), tasks=tasks, steps=1)
    golden("gpu_listing_singe.txt", listing(schedule_named("singe").program(work, Choice(2), MACHINE)))


def printed(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["show", "gemm", "--set", "m=256", *arguments])
    return result.exit_code, result.output


def test_options_of_a_schedule_from_the_command_line() -> None:
    code, text = printed("--gpu", "v100", "--schedule", "cuda_dma", "--option", "dma_warps=2", "--option", "slots=1")
    assert code == 0
    assert "cuda_dma (1 slot, registers, 2 DMA warps)" in text
    assert "role dma1" in text
    assert "role dma2" not in text


def test_unknown_and_repeated_options_are_told() -> None:
    code, text = printed("--gpu", "v100", "--option", "dma_warp=2")
    assert code == 2
    assert "did you mean 'dma_warps'?" in text
    code, text = printed("--gpu", "v100", "--option", "slots=2", "--stages", "2")
    assert code == 2
    assert "slots is fixed twice" in text

"""Fit: registers with setmaxnreg, shared memory with its reserved KiB, occupancy with the limit by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpu_model import load_machine, lower
from gpu_model.fit import Occupancy, check_setmaxnreg, consumer_registers, even_registers, most_registers, occupancy
from patterns.errors import DoesNotFit, UserError
from patterns.library import workload

H100 = load_machine("h100_sxm")


@pytest.mark.parametrize(("registers", "ctas"), [(41, 10), (43, 10), (48, 10), (49, 9)])
def test_registers_are_rounded_up_by_eight(registers: int, ctas: int) -> None:
    assert occupancy(H100, 128, registers, 0) == Occupancy(ctas, "registers")


@pytest.mark.parametrize(("kib", "ctas"), [(16, 13), (32, 6), (48, 4), (64, 3), (112, 2), (227, 1)])
def test_every_cta_takes_a_reserved_kib_of_shared_memory(kib: int, ctas: int) -> None:
    assert occupancy(H100, 128, 32, kib * 1024) == Occupancy(ctas, "shared memory")


def test_threads_and_ctas_limit_too() -> None:
    assert occupancy(H100, 1024, 32, 0) == Occupancy(2, "threads")
    assert occupancy(H100, 32, 16, 0) == Occupancy(32, "CTAs")
    assert occupancy(H100, 1024, 64, 0) == Occupancy(1, "registers")


@pytest.mark.parametrize(
    ("threads", "registers", "smem_bytes", "message"),
    [
        (1024, 65, 0, "needs 65 registers per thread, there is 64"),
        (384, 176, 0, "needs 176 registers per thread, there is 168"),
        (128, 64, 232_449, "needs 232,449 bytes of shared memory, there is 232,448"),
        (1056, 32, 0, "needs 1,056 threads, there is 1,024"),
    ],
)
def test_a_cta_that_cannot_run_is_refused(threads: int, registers: int, smem_bytes: int, message: str) -> None:
    with pytest.raises(DoesNotFit, match=message):
        occupancy(H100, threads, registers, smem_bytes)


def test_register_plans_of_known_kernels() -> None:
    # One producer warpgroup with two consumers (CUTLASS 40/232 and 24/240, FlashAttention-3) or three (24/160).
    assert consumer_registers(H100, 2, 40) == 232
    assert consumer_registers(H100, 2, 24) == 240
    assert consumer_registers(H100, 3, 24) == 160
    assert consumer_registers(H100, 1) == 256
    assert even_registers(H100, 3) == most_registers(H100, 12) == 168


@pytest.mark.parametrize("registers", [24, 240, 256])
def test_setmaxnreg_accepts(registers: int) -> None:
    check_setmaxnreg(registers, 128)


@pytest.mark.parametrize(
    ("registers", "threads", "message"),
    [
        (20, 128, "multiples of 8"),
        (16, 128, "24 to 256"),
        (236, 128, "multiples of 8"),
        (264, 128, "24 to 256"),
        (24, 96, "whole warpgroups"),
    ],
)
def test_setmaxnreg_refuses(registers: int, threads: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_setmaxnreg(registers, threads)


REFUSED = (
    ("multistage", {"stages": 5, "tile_m": 128, "tile_n": 256}),
    ("warp_specialized", {"slots": 5, "tile_m": 128, "tile_n": 256}),
    ("multistage", {"stages": 8, "tile_m": 128, "tile_n": 128}),
    ("warp_specialized", {"slots": 2, "warpgroups": 1, "tile_m": 128, "tile_n": 256}),
)


def test_what_does_not_fit_is_refused_with_what_would(golden: Callable[[str, str], None]) -> None:
    said = []
    for schedule, options in REFUSED:
        with pytest.raises(DoesNotFit) as refusal:
            lower(workload("gemm"), H100, schedule=schedule, options=options)
        said.append(str(refusal.value))
    golden("gpu_does_not_fit.txt", "\n".join(said) + "\n")


def test_what_was_offered_fits() -> None:
    for schedule, options in (("multistage", {"stages": 4}), ("warp_specialized", {"slots": 4})):
        lower(workload("gemm"), H100, schedule=schedule, options={**options, "tile_m": 128, "tile_n": 256})
    lower(workload("gemm"), H100, schedule="multistage", options={"stages": 7, "tile_m": 128, "tile_n": 128})


def test_a_model_larger_than_the_memory_is_refused_with_how_many_would_do() -> None:
    # 70,553,706,496 parameters of 2 bytes, and 4096 positions x 80 layers x 2 x 8 heads x 128 x 2 bytes of cache;
    # 16,908 bytes go in and out.
    with pytest.raises(DoesNotFit, match="142,449,607,180 bytes of memory, there is 80,000,000,000; at least 2 GPUs"):
        lower(workload("llama-3.1-70b"), H100)

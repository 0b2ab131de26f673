"""Occupancy: the rules of cuda_occupancy.h for four generations, and everything that no SM can hold."""

from __future__ import annotations

import pytest

from gpu_model import load_machine
from gpu_model.occupancy.limits import (
    Kernel,
    allocated_tmem,
    most_registers,
    most_smem,
    occupancy,
    waves,
)
from patterns.errors import DoesNotFit, UserError

H100 = load_machine("h100_sxm")
# What cuda_occupancy.h of CUDA 12.9, compiled and asked, answers for kernels drawn at random, of which these tell
# the rules apart: CTAs of an SM and what limits them; 0 where none fits.
# (machine, threads, registers, shared memory, barriers, CTAs, limit)
HEADER = (
    ("a100_sxm", 32, 24, 0, 16, 32, "CTAs"),
    ("h100_sxm", 32, 24, 0, 16, 4, "barriers"),
    ("h100_sxm", 32, 24, 0, 7, 9, "barriers"),
    ("b200", 32, 24, 0, 7, 9, "barriers"),
    ("v100", 2, 61, 4_432, 1, 21, "shared memory"),
    ("v100", 32, 15, 0, 1, 32, "CTAs"),
    ("v100", 46, 244, 93_310, 1, 1, "shared memory"),
    ("v100", 64, 42, 0, 13, 20, "registers"),
    ("v100", 95, 206, 0, 1, 2, "registers"),
    ("v100", 156, 169, 0, 1, 1, "registers"),
    ("v100", 157, 216, 8_239, 1, 1, "registers"),
    ("v100", 211, 43, 14_412, 1, 5, "registers"),
    ("v100", 256, 43, 0, 1, 5, "registers"),
    ("v100", 268, 102, 14_683, 1, 1, "registers"),
    ("v100", 768, 3, 0, 1, 2, "threads"),
    ("v100", 896, 129, 0, 1, 0, ""),
    ("a100_sxm", 6, 47, 0, 6, 32, "CTAs"),
    ("a100_sxm", 57, 174, 0, 1, 4, "registers"),
    ("a100_sxm", 69, 170, 0, 1, 2, "registers"),
    ("a100_sxm", 74, 33, 0, 1, 16, "registers"),
    ("a100_sxm", 111, 97, 55_429, 1, 2, "shared memory"),
    ("a100_sxm", 136, 186, 64_916, 1, 1, "registers"),
    ("a100_sxm", 160, 2, 20_709, 1, 7, "shared memory"),
    ("a100_sxm", 282, 16, 0, 1, 7, "threads"),
    ("a100_sxm", 352, 21, 62_831, 1, 2, "shared memory"),
    ("a100_sxm", 448, 50, 0, 1, 2, "registers"),
    ("a100_sxm", 686, 20, 39_626, 2, 2, "threads"),
    ("a100_sxm", 832, 33, 0, 1, 1, "registers"),
    ("a100_sxm", 1026, 246, 148_006, 5, 0, ""),
    ("h100_sxm", 16, 75, 57_811, 1, 3, "shared memory"),
    ("h100_sxm", 32, 54, 0, 1, 32, "CTAs"),
    ("h100_sxm", 66, 244, 0, 1, 2, "registers"),
    ("h100_sxm", 71, 133, 42_884, 1, 4, "registers"),
    ("h100_sxm", 71, 3, 0, 1, 21, "threads"),
    ("h100_sxm", 180, 70, 216_150, 1, 1, "shared memory"),
    ("h100_sxm", 224, 80, 77_545, 1, 2, "shared memory"),
    ("h100_sxm", 224, 141, 0, 1, 1, "registers"),
    ("h100_sxm", 224, 87, 0, 1, 2, "registers"),
    ("h100_sxm", 272, 101, 0, 3, 1, "registers"),
    ("h100_sxm", 384, 42, 0, 1, 3, "registers"),
    ("h100_sxm", 672, 20, 0, 1, 3, "threads"),
    ("h100_sxm", 1056, 254, 0, 1, 0, ""),
    ("b200", 12, 24, 0, 1, 32, "CTAs"),
    ("b200", 27, 90, 0, 1, 20, "registers"),
    ("b200", 32, 55, 8_285, 1, 24, "shared memory"),
    ("b200", 93, 85, 0, 1, 6, "registers"),
    ("b200", 96, 109, 14_519, 1, 5, "registers"),
    ("b200", 96, 128, 0, 1, 5, "registers"),
    ("b200", 128, 46, 113_357, 1, 2, "shared memory"),
    ("b200", 146, 94, 6_186, 1, 4, "registers"),
    ("b200", 195, 48, 29_939, 1, 5, "registers"),
    ("b200", 864, 35, 0, 10, 1, "registers"),
    ("b200", 896, 1, 0, 1, 2, "threads"),
    ("b200", 996, 232, 0, 1, 0, ""),
)


@pytest.mark.parametrize(("name", "threads", "registers", "smem_bytes", "barriers", "ctas", "limit"), HEADER)
def test_as_cuda_occupancy_h(
    name: str, threads: int, registers: int, smem_bytes: int, barriers: int, ctas: int, limit: str
) -> None:
    kernel = Kernel(threads, registers, smem_bytes, barriers)
    if not ctas:
        with pytest.raises(DoesNotFit):
            occupancy(load_machine(name), kernel)
        return
    found = occupancy(load_machine(name), kernel)
    assert (found.ctas_per_sm, found.limit) == (ctas, limit)


@pytest.mark.parametrize(("registers", "ctas", "warps"), [(41, 10, 40), (43, 10, 40), (48, 10, 40), (49, 9, 36)])
def test_registers_are_rounded_up_by_eight(registers: int, ctas: int, warps: int) -> None:
    found = occupancy(H100, Kernel(128, registers))
    assert (found.ctas_per_sm, found.warps_per_sm, found.limit) == (ctas, warps, "registers")


@pytest.mark.parametrize(("kib", "ctas"), [(16, 13), (32, 6), (48, 4), (64, 3), (112, 2), (227, 1)])
@pytest.mark.parametrize("name", ["h100_sxm", "b200"])
def test_every_cta_takes_a_reserved_kib_of_shared_memory(kib: int, ctas: int, name: str) -> None:
    # Measured on a B200: floor(233472 / (smem + 1024)).
    found = occupancy(load_machine(name), Kernel(128, 32, kib * 1024))
    assert (found.ctas_per_sm, found.limit) == (ctas, "shared memory")


def test_a_v100_reserves_nothing_and_rounds_to_256() -> None:
    v100 = load_machine("v100")
    assert occupancy(v100, Kernel(128, 32, 96 * 1024)).ctas_per_sm == 1
    assert occupancy(v100, Kernel(64, 32, 24 * 1024)).ctas_per_sm == 4
    assert occupancy(v100, Kernel(64, 32, 24 * 1024 + 1)).ctas_per_sm == 3
    assert most_smem(v100, 3) == 32 * 1024


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Kernel(1024, 65), "needs 65 registers per thread, there is 64"),
        (Kernel(384, 176), "needs 176 registers per thread, there is 168"),
        (Kernel(128, 256), "needs 256 registers per thread, there is 255"),
        (Kernel(128, 64, 232_449), "needs 232,449 bytes of shared memory, there is 232,448"),
        (Kernel(1056, 32), "needs 1,056 threads, there is 1,024"),
        (Kernel(128, 32, barriers=17), "needs 17 named barriers, there is 16"),
        (Kernel(128, 32, tmem_columns=32), "needs 32 columns of tensor memory, there is 0"),
    ],
)
def test_a_cta_that_cannot_run_is_refused_with_the_most_that_can(kernel: Kernel, message: str) -> None:
    with pytest.raises(DoesNotFit, match=message):
        occupancy(H100, kernel)


def test_the_greatest_that_can_run_runs() -> None:
    found = occupancy(H100, Kernel(1024, 64))
    assert (found.ctas_per_sm, found.warps_per_sm) == (1, 32)
    assert occupancy(H100, Kernel(384, 168)).ctas_per_sm == 1
    assert most_registers(H100, 32) == 64
    assert most_registers(H100, 12) == 168


@pytest.mark.parametrize(("name", "value"), [("threads", 0), ("threads", -32), ("registers", 0), ("smem_bytes", -1)])
def test_what_is_no_kernel_is_refused(name: str, value: int) -> None:
    values = {"threads": 128, "registers": 32, "smem_bytes": 0, name: value}
    with pytest.raises(UserError, match=f"{name} must be at least . is {value}|{name} must be at least"):
        occupancy(H100, Kernel(**values))


def test_what_ctas_leave_of_the_memory_is_l1() -> None:
    found = occupancy(H100, Kernel(128, 168, 40 * 1024))
    # Three by registers; 3 x 41 KiB fit the 132 KiB that can be configured, which leaves 124 of 256 KiB.
    assert (found.ctas_per_sm, found.carveout_bytes, found.l1_bytes) == (3, 132 * 1024, 124 * 1024)


@pytest.mark.parametrize(("columns", "allocated"), [(0, 0), (1, 32), (32, 32), (33, 64), (256, 256), (257, 512)])
def test_tensor_memory_is_allocated_in_powers_of_two(columns: int, allocated: int) -> None:
    assert allocated_tmem(columns) == allocated


def test_tensor_memory_limits_ctas() -> None:
    b200 = load_machine("b200")
    found = occupancy(b200, Kernel(128, 64, 1024, tmem_columns=129))
    assert (found.ctas_per_sm, found.limit) == (2, "tensor memory")
    with pytest.raises(DoesNotFit, match="needs 1,024 columns of tensor memory, there is 512"):
        occupancy(b200, Kernel(128, 64, 1024, tmem_columns=513))


@pytest.mark.parametrize(
    ("tiles", "count", "share"), [(512, 4, 0.9697), (132, 1, 1.0), (133, 2, 0.5038), (1, 1, 1 / 132)]
)
def test_waves_are_rounded_up(tiles: int, count: int, share: float) -> None:
    found = waves(H100, tiles, 1)
    assert found[0] == count
    assert found[1] == pytest.approx(share, abs=1e-4)

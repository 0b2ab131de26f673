"""Prices: matrix instructions with their padding, transfers at a share of each level, rounded up once."""

from __future__ import annotations

import pytest

from gpu_model import load_machine
from gpu_model.price import Mma, Transfer, hbm_cycles, issue_cycles, mma, network_cycles, path_cycles
from gpu_model.tiles.assign import ring_sent_bytes

H100 = load_machine("h100_sxm")
UNIT = load_machine("unit")


# wgmma m64nNk16 of bf16, operands in shared memory: cycles measured on an H800 (arXiv 2402.13499).
@pytest.mark.parametrize(("columns", "cycles"), [(256, 128), (128, 64), (64, 32), (32, 24), (16, 20), (8, 18)])
def test_one_instruction_takes_as_long_as_measured(columns: int, cycles: int) -> None:
    assert mma(H100, 64, columns, 16, "bf16") == Mma(cycles, 2 * 64 * columns * 16)


def test_fp8_has_twice_the_inner_extent_in_the_same_time() -> None:
    assert mma(H100, 64, 256, 32, "fp8").cycles == 128
    assert mma(H100, 64, 256, 8, "fp32").cycles == 128


def test_padding_is_issued_work() -> None:
    # 1 x 256 x 64 is computed transposed: m64 blocks of the 256, n8 for the 1, 4 steps of k16.
    issued = mma(H100, 1, 256, 64, "bf16")
    assert issued.flops == 2 * 256 * 8 * 64
    assert issued.cycles == 4 * 4 * 18
    # 65 x 9 x 17: 128 x 16 x 32 one way, 64 x 72 x 32 the other; the second is quicker.
    assert mma(H100, 65, 9, 17, "bf16").flops == 2 * 64 * 72 * 32


def test_unit_takes_a_cycle_for_each_flop() -> None:
    assert mma(UNIT, 3, 5, 7, "bf16", count=2) == Mma(420, 420, row_blocks=6)


def test_a_path_is_as_slow_as_its_slowest_level() -> None:
    # 6400 bytes: 100 cycles at the port's 64 B/cycle.
    alone = Transfer(6400, 1, 0, 6400)
    assert path_cycles(H100, alone, 1, 64) == 100
    # With 132 SMs at once the L2 gives each 1 / 132 of what it has.
    narrow = load_machine("h100_sxm", {"l2_bytes_per_cycle": "4472 B/cycle"})
    assert path_cycles(narrow, alone, 132, 64) == -(-6400 * 132 // 4472)
    # All of it from the HBM: 3.01e12 / 1.83e9 B/cycle for the whole GPU.
    cold = Transfer(6400, 1, 1, 1)
    assert path_cycles(H100, cold, 132, 64) == hbm_cycles(H100, cold, 132) == -(-6400 * 132 * 183 // 301_000)


def test_a_part_of_a_transfer_is_rounded_up_once() -> None:
    assert path_cycles(UNIT, Transfer(10, 4, 10, 10), 1, 1) == 3
    assert hbm_cycles(UNIT, Transfer(10, 4, 3, 10), 1) == 1


def test_issue_costs() -> None:
    assert issue_cycles(H100, "tma", 49152) == 10
    assert issue_cycles(H100, "cp_async", 49152) == 96  # 2 cycles for each of 48 KiB
    assert issue_cycles(load_machine("lecture_sm"), "cp_async", 1) == 100


def test_a_ring_sends_its_part() -> None:
    assert ring_sent_bytes(1000, 1) == 0
    assert ring_sent_bytes(1000, 2) == 1000
    assert ring_sent_bytes(1000, 8) == 1750
    assert ring_sent_bytes(1000, 3) == 1334
    # 66 % of 450 GB/s are 162.3 bytes in a cycle of 1.83 GHz.
    assert network_cycles(H100, 1_000_000, 1) == 6162

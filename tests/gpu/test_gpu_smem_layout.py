"""Layouts of shared memory: bank conflicts counted from addresses, and what they cost a kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_model import load_machine, lower
from gpu_model.machine import Machine
from gpu_model.price import mma
from gpu_model.smem_layout import Access, check_layout, conflict_ways, layout_named, layout_names, padding_bytes
from patterns.errors import DoesNotFit, UnknownName, UserError
from patterns.library import workload
from patterns.pipeline.simulate import simulate

A100 = load_machine("a100_sxm")
H100 = load_machine("h100_sxm")


# Known by heart: rows of 64 bf16 read by ldmatrix conflict eight ways, a column of 32-bit words thirty-two ways; 16
# bytes of padding, or the swizzle of 128 bytes, remove the first.
@pytest.mark.parametrize(
    ("name", "row_bytes", "access", "ways"),
    [
        ("plain", 128, "fragments", 8),
        ("plain", 64, "fragments", 4),
        ("plain", 32, "fragments", 2),
        ("plain", 16, "fragments", 1),
        ("plain", 128, "column", 32),
        ("plain", 128, "row", 1),
        ("padded", 128, "fragments", 1),
        ("padded", 64, "fragments", 1),
        ("padded", 128, "column", 4),
        ("swizzled", 128, "fragments", 1),
        ("swizzled", 64, "fragments", 1),
        ("swizzled", 32, "fragments", 1),
        ("swizzled", 256, "fragments", 1),
        ("swizzled", 128, "column", 4),
        ("swizzled", 128, "row", 1),
    ],
)
def test_conflicts_of_known_layouts(name: str, row_bytes: int, access: Access, ways: int) -> None:
    assert conflict_ways(name, row_bytes, access) == ways


@given(st.sampled_from(["plain", "padded", "swizzled"]), st.sampled_from([16, 32, 64, 128, 256, 384]))
def test_no_two_chunks_have_the_same_place(name: str, row_bytes: int) -> None:
    layout = layout_named(name)
    places = [layout.address(row, chunk, row_bytes) for row in range(64) for chunk in range(row_bytes // 16)]
    assert len(set(places)) == len(places)
    assert all(place % 16 == 0 for place in places)


def test_a_swizzle_only_exchanges_chunks_within_128_bytes() -> None:
    swizzled = layout_named("swizzled")
    for row_bytes in (16, 32, 64, 128):
        lines: dict[int, set[int]] = {}
        for row in range(16):
            for chunk in range(row_bytes // 16):
                lines.setdefault((row * row_bytes + chunk * 16) // 128, set()).add(
                    swizzled.address(row, chunk, row_bytes) // 16
                )
        assert all(places == set(range(8 * line, 8 * line + 8)) for line, places in lines.items())


def test_tma_writes_dense_boxes_only() -> None:
    check_layout("padded", "cp_async")
    check_layout("swizzled", "tma")
    with pytest.raises(UserError, match="tma writes dense boxes, so not the layout padded; it can write plain or"):
        check_layout("padded", "tma")
    with pytest.raises(UnknownName, match="did you mean 'swizzled'"):
        check_layout("swizzle", "tma")
    assert layout_names() == ("padded", "plain", "swizzled")


def test_padding_takes_shared_memory() -> None:
    assert padding_bytes("padded", 49_152, 128) == 384 * 16
    assert padding_bytes("swizzled", 49_152, 128) == padding_bytes("plain", 49_152, 128) == 0
    graph, tile = workload("gemm"), {"tile_m": 128, "tile_n": 256, "loader": "cp_async"}
    # Four slots of 48 KiB fit beside each other, of 54 KiB too; in 166,912 bytes of an A100 three fit, then only three.
    lower(graph, H100, schedule="multistage", options={**tile, "stages": 4, "layout": "padded"})
    with pytest.raises(DoesNotFit, match="a slot has 55,296 bytes and at most 3 fit"):
        lower(graph, A100, schedule="multistage", options={**tile, "stages": 4, "layout": "padded"})


def cycles(machine: Machine, layout: str) -> int:
    graph = workload("gemm", overrides={"m": 1024, "n": 1024, "k": 4096})
    options = {"tile_m": 128, "tile_n": 128, "stages": 4, "loader": "cp_async", "layout": layout}
    (call,) = lower(graph, machine, schedule="multistage", options=options).calls
    assert (", plain operands" in call.schedule) == (layout == "plain")
    return simulate(call.program).total_cycles


def test_conflicts_cost_time_where_warps_read_operands() -> None:
    fast = replace(A100, hbm_bytes_per_s=10**15, l2_bytes_per_cycle=10**6, load_bytes_per_cycle=10**4)
    swizzled, padded, plain = (cycles(fast, layout) for layout in ("swizzled", "padded", "plain"))
    assert swizzled == padded
    # Of a step of 128 x 128 x 64, 64 KiB go through shared memory: 512 cycles, or 4,096; the products take 1,024.
    assert plain - swizzled == pytest.approx(64 * (4096 - 1024), rel=0.01)


@pytest.mark.parametrize(("conflicts", "expected"), [(1, 1024), (2, 1024), (4, 2048), (8, 4096)])
def test_reading_and_multiplying_overlap(conflicts: int, expected: int) -> None:
    assert mma(A100, 128, 128, 64, "bf16", conflicts=conflicts).cycles == expected


def test_a_narrow_tile_is_limited_by_reading() -> None:
    # Two warps read (64 + 8) rows of 128 bytes each: 144 cycles for 64 of products.
    assert mma(A100, 128, 8, 64, "bf16").cycles == 144


def test_conflicts_slow_down_wgmma_too() -> None:
    # 4 x 16 KiB of a step's operands at 128 bytes a cycle: 384 cycles of 1,024; eight times that with conflicts.
    assert mma(H100, 128, 256, 64, "bf16").cycles == 1024
    assert mma(H100, 128, 256, 64, "bf16", conflicts=8).cycles == 8 * 2 * 4 * (64 + 256) * 32 // 128

"""Sums in parts: partial sums are fp32, and so are the bytes that they take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu_model import load_machine, lower, rounded_results
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan, Tile, Tiling

# In bf16, which has 8 bits, 256 + 1 is 256.
ARRAYS = {"a": np.array([[256.0, 1.0, -256.0]]), "b": np.ones((3, 1))}


def plan(tiling: Tiling) -> Plan:
    """A product of one row with one column of three, tiled so."""
    graph = workload("gemm", overrides={"m": "1", "n": "1", "k": "3"})
    made = lower(graph, load_machine("h100_sxm"))
    call = replace(made.calls[0], tiling=tiling)
    if not tiling.splits:
        return replace(made, calls=(call,))
    return replace(made, calls=(call, replace(call, name="merge", nodes=(), tiling=Tiling(), combines=call.name)))


@pytest.mark.parametrize(
    "tiling",
    [
        Tiling(splits=(("k", 2),)),  # [256, 1] and [-256]
        Tiling(splits=(("k", 3),)),
        Tiling((Tile("k", 2),)),
        Tiling((Tile("k", 1),)),
    ],
)
def test_partial_sums_are_kept_in_fp32(tiling: Tiling) -> None:
    found = execute(plan(tiling), ARRAYS, rounding=rounded_results)
    assert float(next(iter(found.values())).item()) == 1.0


def test_partial_sums_in_the_type_of_the_result_would_lose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from patterns.numbers.rounding import rounded

    monkeypatch.setattr(
        "patterns.kinds.mm.part", lambda node, operands, dims, first: (rounded(_product(operands), "bf16"),)
    )
    found = execute(plan(Tiling((Tile("k", 2),))), ARRAYS, rounding=rounded_results)
    assert float(next(iter(found.values())).item()) == 0.0


def _product(operands: list[object]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    left, right = (operand.array for operand in operands)  # type: ignore[attr-defined]
    return np.asarray(left @ right)


def test_the_workspace_of_split_k_is_of_fp32() -> None:
    graph = workload("gemm", overrides={"m": "128", "n": "256", "k": "65536"})
    options = {"splits": 8, "tile_m": 128, "tile_n": 256}
    split, merge = lower(graph, load_machine("h100_sxm"), options=options).calls
    workspace = 8 * 128 * 256 * 4
    operands, result = 2 * 65536 * (128 + 256), 2 * 128 * 256
    # The workspace is written by one call and read by the other; it stays in the L2.
    assert dict(split.traffic)["l2"] >= operands + workspace
    assert dict(merge.traffic)["l2"] == workspace + result

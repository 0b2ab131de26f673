"""What tiles have in common over contexts, batches and parts changes nothing but the time that finding it takes."""

from __future__ import annotations

import pytest

from gpu_model import load_machine, lower
from gpu_model.choice import alike
from gpu_model.tiles import footprint
from gpu_model.tiles.space import Space
from patterns.library import workload
from tests.memos import forget

# Masks, lookups, windows, moves, scans and blocks that are scaled, with extents that cut some tiles short.
KERNELS = (
    ("gqa_decode", {"batch": 3, "context": 333}),
    ("attention", {"context": 300}),
    ("softmax", {"rows": 77, "columns": 1000}),
    ("add_rms_norm", {}),
    ("gemm_bias_act", {"m": 100}),
    ("kv_cache_int8", {}),
    ("conv_bias_pool", {}),
    ("dlrm", {}),
    ("mixtral", {}),
    ("gemm_fp8_blocks", {}),
    ("mamba", {}),
)


@pytest.mark.parametrize("policy", ["library", "operator"])
def test_tiles_that_are_alike_ask_for_what_they_would_alone(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(space: Space) -> None:
        return None

    def plans() -> list[object]:
        forget()
        machine = load_machine("h200")
        return [lower(workload(name, overrides=extents), machine, policy=policy) for name, extents in KERNELS]

    shared = plans()
    for module in (alike, footprint):
        monkeypatch.setattr(module, "frame_of", alone)
    assert shared == plans()
    forget()

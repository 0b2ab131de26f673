"""How long validation takes: 2,000 GEMMs, predicted on two processes.

The limit is for two cores that nothing else uses. Run with `pytest -s -o addopts=--import-mode=importlib
tests/benchmarks`.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

from experiments.validate import Question, validate

ROWS = 2000
LIMIT_S = 20.0
EXTENTS = (32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 3584, 4096, 5120, 8192, 12288, 16384, 65536)


def test_two_thousand_gemms_are_quick(tmp_path: Path) -> None:
    rng = Random(0)
    shapes = {(rng.randint(1, 4096), rng.choice(EXTENTS), rng.choice(EXTENTS)) for _ in range(ROWS + 100)}
    rows = "".join(f"h100_sxm,made,bfloat16,{m},{n},{k},10\n" for m, n, k in sorted(shapes)[:ROWS])
    (tmp_path / "gemm.csv").write_text("gpu,library,gemm_dtype,m,n,k,latency_us\n" + rows)
    begin = time.perf_counter()
    (found,) = validate(Question(("gemm",), folder=tmp_path, jobs=2)).families
    taken_s = time.perf_counter() - begin
    print(f"\nvalidate, {len(found.compared):,} GEMMs: {taken_s:.1f} s (limit {LIMIT_S:.0f} s)")
    assert len(found.compared) == ROWS
    assert taken_s < LIMIT_S

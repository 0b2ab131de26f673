"""Fit: plans that no SM holds are refused with what would fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpu_model import load_machine, lower
from gpu_model.fit import kernel_of, misfit, resident
from gpu_model.occupancy.limits import Kernel
from gpu_model.work import Choice, CtaDemand, RoleDemand, Use, Wave, Work
from patterns.errors import DoesNotFit
from patterns.library import workload

H100 = load_machine("h100_sxm")

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


NOTHING = Use("store", 0, "store")
WORK = Work("k", (Wave(1, NOTHING, NOTHING),), 1, 1024, (), (), 0)


def why(demand: CtaDemand, machine: str = "h100_sxm") -> str:
    return str(misfit("k", demand, WORK, Choice(), load_machine(machine)) or "")


def demand(*registers: int, setmaxnreg: bool = True, barriers: int = 1, tmem_columns: int = 0) -> CtaDemand:
    roles = tuple(RoleDemand(f"role {i}", 128, each) for i, each in enumerate(registers))
    return CtaDemand(roles, 1024, setmaxnreg, tmem_columns, barriers)


def test_roles_share_the_pool_that_they_were_launched_with() -> None:
    assert not why(demand(40, 232, 232))
    assert "the role 2 of k does not fit: needs 240 registers per thread, there is 224" in why(demand(40, 240, 240))
    # A middle role that asks for too much is told of too, and setmaxnreg never gives less than 24.
    assert "the role 1 of k does not fit: needs 400 registers per thread, there is 255" in why(demand(40, 400, 24))
    assert not why(demand(8, 240, 240))
    assert "needs 233 registers per thread, there is 168" in why(demand(40, 40, 233, setmaxnreg=False))


def test_named_barriers_and_tensor_memory_are_limits() -> None:
    assert not why(demand(64, barriers=16))
    assert "needs 17 named barriers, there is 16" in why(demand(64, barriers=17))
    assert not why(demand(64, tmem_columns=300), "b200")
    assert "needs 512 columns of tensor memory, there is 0" in why(demand(64, tmem_columns=300))


def test_a_cta_is_launched_with_what_its_roles_need_together() -> None:
    assert kernel_of(demand(40, 232, 232)) == Kernel(384, 168, 1024)
    assert kernel_of(demand(24, 64, 64)).registers == 56
    assert resident(demand(24, 64, 64), H100).ctas_per_sm == 3
    assert resident(demand(24, 64, 64, setmaxnreg=False), H100).ctas_per_sm == 2

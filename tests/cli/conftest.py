"""Hand-made results: what the command prints can be tested without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.request import Request
from patterns.graph import Block, Graph
from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Commit, Loop, Release, Run, Wait, copy
from patterns.pipeline.simulate import simulate
from patterns.plan import Call, LaunchCost, Plan, Rates, Tiling
from patterns.report import OVERLAP_PARTS, WATERFALL_PARTS, CallCount, CallRun, Execution, Report

if TYPE_CHECKING:
    from experiments.compare import Comparison, Outcome

LAYERS = 32
EXTENTS = (("batch", 1), ("seq", 1), ("context", 4096), ("layers", LAYERS))
GRAPH = Graph(
    "made-llama", EXTENTS, (), (Block("embedding", 1, ()), Block("decoder", LAYERS, ()), Block("head", 1, ()))
)


def made_report(
    family: str, mode: str, per_layer: int, around: tuple[int, int], time_ps: int, looped: bool = False
) -> Report:
    """A report with plausible parts: each part of an account gets a different share, and they add up."""
    layer_total = 1 if looped else LAYERS * per_layer
    counts = (
        CallCount("embedding", 1, around[0], around[0]),
        CallCount("decoder", LAYERS, per_layer, layer_total),
        CallCount("head", 1, around[1], around[1]),
    )
    return Report(
        machine={"gpu": "h100_sxm", "rdu": "sn40l"}[family],
        family=family,
        mode=mode,
        members=1,
        calls=layer_total + sum(around),
        calls_by_block=counts,
        calls_per_layer=None if looped else per_layer,
        time_ps=time_ps,
        bound_ps=4_640_812_345,
        bound="hbm_bytes",
        bytes=(("hbm", 15_546_720_256 + 4096 * layer_total), ("l2", 31_000_000_000), ("onchip", 62_000_000_000)),
        overlap_ps=parted(time_ps, OVERLAP_PARTS[:4] + OVERLAP_PARTS[5:8] + OVERLAP_PARTS[8:]),
        waterfall_ps=parted(time_ps, WATERFALL_PARTS[:7] + WATERFALL_PARTS[9:10] + WATERFALL_PARTS[14:]),
        utilization=(("hbm", 0.47),),
    )


def parted(whole: int, names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """`whole` in unequal parts, the first one the largest."""
    parts = [whole // (3 * (i + 1)) for i in range(1, len(names))]
    while sum(parts) > whole:
        parts = [part // 2 for part in parts]
    return tuple(zip(names, [whole - sum(parts), *parts], strict=True))


def ring_program() -> Program:
    """A producer and a consumer around a ring of four slots, as in a warp-specialised kernel."""
    load = copy("load", 700, 600, "ring", label="load")
    producer = Role("producer", (Loop(64, (Acquire("ring"), Run("issue", 10, "issue"), load)),))
    step = (Wait("ring"), Run("tc", 1024, "mma"), Release("ring"))
    consumer = Role("consumer", (Loop(64, step), Run("vector", 256, "epilogue"), Run("store", 1024, "store")))
    units = (("tc", "matrix"), ("vector", "vector"), ("load", "memory"), ("store", "memory"), ("issue", "issue"))
    made = tuple(Unit(name, unit_class) for name, unit_class in units)  # type: ignore[arg-type]
    return Program("gemm", made, (Channel("ring", 4),), (producer, consumer))


def stages_program(stages: int) -> Program:
    """A metapipeline: weights stream in, each stage works on what the one before it buffered."""
    units = [Unit("hbm", "memory"), *(Unit(f"pcu{i}", "matrix" if i % 2 else "vector") for i in range(stages))]
    channels = tuple(Channel(f"buffer{i}", 2) for i in range(stages))
    source = Role("weights", (Loop(96, (Acquire("buffer0"), Run("hbm", 90, "load"), Commit("buffer0"))),))
    roles = [source]
    for i in range(stages):
        put = (Acquire(f"buffer{i + 1}"),) if i + 1 < stages else ()
        give = (Commit(f"buffer{i + 1}"),) if i + 1 < stages else ()
        body = (Wait(f"buffer{i}"), *put, Run(f"pcu{i}", 60 + 10 * (i % 4), f"s{i}"), *give, Release(f"buffer{i}"))
        roles.append(Role(f"stage {i}", (Loop(96, body),)))
    return Program("decoder", tuple(units), channels, tuple(roles))


def made_outcome(report: Report) -> Outcome:
    """A report with an execution of one call below it."""
    from experiments.compare import Outcome

    launch = LaunchCost("stream", 0, 0, 0, 1)
    program = ring_program() if report.family == "gpu" else stages_program(9)
    call = Call(program.name, "decoder", (), Tiling(), program, 1_830_000_000, schedule="warp_specialized")
    plan = Plan(report.machine, report.family, report.mode, 1, GRAPH, (call,), launch, Rates((), ()))  # type: ignore[arg-type]
    timeline = simulate(program)
    return Outcome(Execution(plan, (CallRun(call.name, timeline, 10**6),), program, timeline), report)


@pytest.fixture
def comparison() -> Comparison:
    """A GPU under three policies and an RDU in three modes, with made-up numbers."""
    from experiments.compare import Comparison

    reports = (
        made_report("gpu", "pattern", 37, (4, 9), 14_210_345_678),
        made_report("gpu", "operator", 25, (2, 6), 11_020_123_456),
        made_report("gpu", "library", 10, (1, 4), 6_310_987_654),
        made_report("rdu", "unfused", 37, (4, 9), 21_990_111_222),
        made_report("rdu", "fused", 1, (1, 1), 5_990_333_444),
        made_report("rdu", "looped", 1, (1, 1), 5_120_555_666, looped=True),
    )
    return Comparison(Request("made-llama"), GRAPH, tuple(map(made_outcome, reports)))

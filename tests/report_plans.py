"""A small plan that a person can add up: four layers of one mm, and a head that only moves bytes."""

from __future__ import annotations

from dataclasses import replace

from patterns.graph import Block, Graph, Node, Tensor
from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Release, Run, Wait, copy
from patterns.plan import Call, LaunchCost, Plan, Rates, Tiling

# 256 FLOP in each of four layers; 128 B of weights for each, 32 B in, 32 B out.
GRAPH = Graph(
    "four layers",
    (("rows", 2), ("k", 8), ("n", 8)),
    (
        Tensor("x", ("rows", "k"), "bf16", "input"),
        Tensor("w", ("k", "n"), "bf16", "weight", "layers"),
        Tensor("y", ("rows", "n"), "bf16", "output"),
    ),
    (Block("layers", 4, (Node("y", "mm", "", ("x", "w"), "y", ("k",)),)),),
)
UNITS = (Unit("tc", "matrix"), Unit("mem", "memory"), Unit("store", "memory"))
TILE = (Acquire("a"), copy("mem", 160, 20, "a", label="load"), Wait("a"), Run("tc", 300, "mma"), Release("a"))
LAYER = Program("layer", UNITS, (Channel("a", 1),), (Role("warp", (*TILE, Run("store", 10, "store"))),))
HEAD = Program("head", UNITS, (), (Role("warp", (Run("mem", 130, "load"),)),))
PER_PS = 1e12
RATES = Rates(
    (("matrix_flops", PER_PS), ("hbm_bytes", PER_PS)), (("matrix_flops", 0.95 * PER_PS), ("hbm_bytes", 0.8 * PER_PS))
)
# With a clock of 1 THz a cycle is a picosecond.
LAYER_CALL = Call(
    "layer",
    "layers",
    ("y",),
    Tiling(),
    LAYER,
    10**12,
    count=4,
    work=(("matrix_flops", 280), ("hbm_bytes", 160)),
    traffic=(("hbm", 160), ("l2", 200)),
)
HEAD_CALL = Call(
    "head", "head", (), Tiling(), HEAD, 10**12, work=(("hbm_bytes", 100),), traffic=(("hbm", 100), ("network", 5))
)
LAUNCH = LaunchCost("stream", once_ps=0, host_ps=100, device_ps=7, queue_depth=64)
PLAN = Plan("by hand", "gpu", "library", 2, GRAPH, (LAYER_CALL, HEAD_CALL), LAUNCH, RATES, warnings=("small",))


def with_calls(*calls: Call) -> Plan:
    """The plan with other calls."""
    return replace(PLAN, calls=calls)

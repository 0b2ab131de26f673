"""The lecture's SM as Programs written by hand: one CTA computes a 128x256 tile of C in 64 steps of k."""

from __future__ import annotations

from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Finish,
    Loop,
    Op,
    Release,
    Run,
    Start,
    Wait,
    copy,
)

UNITS = (
    Unit("issue", "issue", 2),
    Unit("load", "memory"),
    Unit("tc", "matrix"),
    Unit("fma", "vector"),
    Unit("sfu", "special"),
    Unit("store", "memory"),
)
STEPS = 64
TRANSFER, LATENCY, MMA = 768, 700, 1024
CP_ASYNC, TMA = 100, 10
EPILOGUE = (Run("fma", 256, "convert"), Run("store", 1024, "store"))


def load(issue_cycles: int, handle: str = "load") -> tuple[Op, ...]:
    """Issue one step's load and go on."""
    return (Run("issue", issue_cycles, "issue"), Start("load", TRANSFER, LATENCY, handle=handle, label="load"))


def synchronous() -> Program:
    """Load, wait, multiply; nothing overlaps."""
    step = (*load(CP_ASYNC), Finish("load"), Run("tc", MMA, "mma"))
    return Program("synchronous", UNITS, (), (Role("warps", (Loop(STEPS, step), *EPILOGUE)),))


def multistage(stages: int) -> Program:
    """S - 1 loads ahead; each step issues one more."""
    use = (Finish("load"), Run("tc", MMA, "mma"))
    script = (
        Loop(stages - 1, load(CP_ASYNC)),
        Loop(STEPS - stages + 1, (*load(CP_ASYNC), *use)),
        Loop(stages - 1, use),
        *EPILOGUE,
    )
    return Program(f"multistage_{stages}", UNITS, (), (Role("warps", script),))


def producer(slots_channel: str, steps: int, issue_cycles: int = TMA) -> Role:
    """Waits for an empty slot, issues, copies."""
    step = (
        Acquire(slots_channel),
        Run("issue", issue_cycles, "issue"),
        copy("load", TRANSFER, LATENCY, into=slots_channel, label="load"),
    )
    return Role("producer", (Loop(steps, step),))


def consume(cycles: int = MMA, steps: int = STEPS, reader: int = 0) -> Loop:
    """Waits for a full slot, multiplies, frees it."""
    return Loop(steps, (Wait("ab", reader), Run("tc", cycles, "mma"), Release("ab", reader)))


def warp_specialized(slots: int = 4, tiles: int = 1, steps: int = STEPS) -> Program:
    """One producer, one consumer that also does the epilogue of each tile."""
    consumer = Role("consumer", (Loop(tiles, (consume(steps=steps), *EPILOGUE)),))
    return Program("warp_specialized", UNITS, (Channel("ab", slots),), (producer("ab", steps * tiles), consumer))


def pingpong(tiles: int, steps: int) -> Program:
    """Two consumers take tiles in turn: main loops one after the other, epilogues beside the other's main loop."""
    roles = [producer("ab", steps * tiles)]
    for me, other in ((0, 1), (1, 0)):
        script = (Await(f"turn{me}"), consume(steps=steps), Arrive(f"turn{other}"), *EPILOGUE)
        first = (Arrive("turn0"),) if me == 0 else ()
        roles.append(Role(f"consumer{me}", (*first, Loop(tiles // 2, script))))
    return Program("pingpong", UNITS, (Channel("ab", 4),), tuple(roles), (Barrier("turn0"), Barrier("turn1")))


def cooperative(tiles: int, steps: int) -> Program:
    """Two consumers share each tile by rows: both free a slot, both enter and leave the epilogue together."""
    together = (Arrive("both"), Await("both", 2))
    epilogue = (*together, Run("fma", 128, "convert"), Run("store", 512, "store"), *together)
    roles = [producer("ab", steps * tiles)]
    for me in (0, 1):
        roles.append(Role(f"consumer{me}", (Loop(tiles, (consume(512, steps, reader=me), *epilogue)),)))
    return Program("cooperative", UNITS, (Channel("ab", 4, readers=2),), tuple(roles), (Barrier("both"),))


GEMM, SOFTMAX = Run("tc", 512, "gemm"), (Run("sfu", 512, "exp"), Run("fma", 256, "scale"))


def attention_serial(blocks: int = 32) -> Program:
    """Per key block: scores, softmax, values."""
    return Program("serial", UNITS, (), (Role("warps", (Loop(blocks, (GEMM, *SOFTMAX, GEMM)),)),))


def attention_pingpong(blocks: int = 16) -> Program:
    """Two warpgroups take turns at the tensor core; the softmax is outside the turn."""
    roles = []
    for me, other in ((0, 1), (1, 0)):
        enter, leave = Await(f"turn{me}"), Arrive(f"turn{other}")
        script: tuple[Op, ...] = (
            *((Arrive("turn0"),) if me == 0 else ()),
            *(enter, GEMM, leave, *SOFTMAX),
            Loop(blocks - 1, (enter, GEMM, GEMM, leave, *SOFTMAX)),
            *(enter, GEMM, leave),
        )
        roles.append(Role(f"warps{me}", script))
    return Program("pingpong", UNITS, (), tuple(roles), (Barrier("turn0"), Barrier("turn1")))


def attention_intra(warpgroups: int, blocks: int) -> Program:
    """The next block's scores run under this block's softmax."""
    scores = Start("tc", 512, handle="scores", label="gemm")
    script = (
        scores,
        Loop(blocks - 1, (Finish("scores"), scores, *SOFTMAX, GEMM)),
        *(Finish("scores"), *SOFTMAX, GEMM),
    )
    return Program("intra", UNITS, (), tuple(Role(f"warps{i}", script) for i in range(warpgroups)))

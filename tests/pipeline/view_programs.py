"""Programs that the tests of what is read off a run share: the lecture's, by hand, and random ones."""

from __future__ import annotations

from random import Random

from patterns.pipeline.program import UNIT_CLASSES, Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Loop, Op, Release, Run, Wait, copy

STEPS = 64
SM_UNITS = (
    Unit("tc", "matrix"),
    Unit("mem", "memory"),
    Unit("store", "memory"),
    Unit("fma", "vector"),
    Unit("sfu", "special"),
    Unit("issue", "issue", 2),
)
LOAD = copy("mem", 768, 700, "ab", label="load")
MMA = Run("tc", 1024, "mma")
EPILOGUE: tuple[Op, ...] = (Run("fma", 256, "convert"), Run("store", 1024, "store"))
CONSUME: tuple[Op, ...] = (Wait("ab"), MMA, Release("ab"))


def load(issue_cycles: int) -> tuple[Op, ...]:
    """Fill one slot: take it, pay for the issue, start the copy."""
    return (Acquire("ab"), Run("issue", issue_cycles, "issue"), LOAD)


def synchronous() -> Program:
    """The lecture's section 4.1: load a tile, wait for it, multiply."""
    script = (Loop(STEPS, load(100) + CONSUME, "k-steps"), *EPILOGUE)
    return Program("synchronous", SM_UNITS, (Channel("ab", 1),), (Role("warps", script),))


def multistage(stages: int) -> Program:
    """The lecture's section 4.3: stages - 1 loads ahead, issued by the warps that multiply."""
    ahead = stages - 1
    loops = (Loop(ahead, load(100)), Loop(STEPS - ahead, load(100) + CONSUME), Loop(ahead, CONSUME))
    return Program("multistage", SM_UNITS, (Channel("ab", stages),), (Role("warps", (*loops, *EPILOGUE)),))


def warp_specialized() -> Program:
    """The lecture's section 5: a producer and a consumer around four slots."""
    producer = Role("producer", (Loop(STEPS, load(10), "k-steps"),))
    consumer = Role("consumer", (Loop(STEPS, CONSUME, "k-steps"), *EPILOGUE))
    return Program("warp_specialized", SM_UNITS, (Channel("ab", 4, slot_bytes=49152),), (producer, consumer))


def persistent(tiles: int, steps: int) -> Program:
    """The lecture's section 7.3: several output tiles, one consumer."""
    producer = Role("producer", (Loop(tiles * steps, load(10)),))
    consumer = Role("consumer", (Loop(tiles, (Loop(steps, CONSUME, "k-steps"), *EPILOGUE), "tiles"),))
    return Program("persistent", SM_UNITS, (Channel("ab", 4),), (producer, consumer))


def pingpong(tiles: int, steps: int) -> Program:
    """The lecture's section 7.3: two consumers take tiles in turn, their main loops are ordered."""
    producer = Role("producer", (Loop(tiles * steps, load(10)),))

    def consumer(own: str, other: str) -> tuple[Op, ...]:
        return (Loop(tiles // 2, (Await(own), Loop(steps, CONSUME), Arrive(other), *EPILOGUE)),)

    second = (Arrive("turn a"), *consumer("turn b", "turn a"))
    roles = (producer, Role("a", consumer("turn a", "turn b")), Role("b", second))
    return Program("pingpong", SM_UNITS, (Channel("ab", 4),), roles, (Barrier("turn a"), Barrier("turn b")))


def attention_pingpong() -> Program:
    """The lecture's section 8.2: two warpgroups of 16 key blocks each, in turn at the tensor core."""
    gemm, softmax = Run("tc", 512, "gemm"), (Run("sfu", 512, "exp"), Run("fma", 256, "scale"))

    def warpgroup(own: str, other: str) -> tuple[Op, ...]:
        first = (Await(own), gemm, Arrive(other), *softmax)
        middle = Loop(15, (Await(own), gemm, gemm, Arrive(other), *softmax))
        return (*first, middle, Await(own), gemm, Arrive(other))

    second = (Arrive("turn a"), *warpgroup("turn b", "turn a"))
    roles = (Role("a", warpgroup("turn a", "turn b")), Role("b", second))
    return Program("attention", SM_UNITS, (), roles, (Barrier("turn a"), Barrier("turn b")))


def random_program(seed: int) -> Program:
    """A pipeline of stages on units that they may share, in phases of different length, repeated or not."""
    draw = Random(seed)
    units = tuple(
        Unit(f"u{i}", draw.choice(UNIT_CLASSES), draw.choice((1, 1, 1, 2))) for i in range(draw.randint(1, 4))
    )
    stages = draw.randint(1, 4)
    channels = tuple(Channel(f"c{i}", draw.randint(1, 3)) for i in range(stages - 1))
    phases = [draw.choice((1, 2, 5, 40)) for _ in range(draw.randint(1, 3))]
    outer = draw.choice((1, 1, 2, 30))
    roles = []
    for stage in range(stages):
        body = tuple(Loop(trips, _stage(draw, units, stage, stages)) for trips in phases)
        roles.append(Role(f"r{stage}", (Loop(outer, body),)))
    return Program(f"random {seed}", units, channels, tuple(roles))


def _stage(draw: Random, units: tuple[Unit, ...], stage: int, stages: int) -> tuple[Op, ...]:
    """One trip of a stage: take a tile, work on it, hand it on."""
    taken: list[Op] = [Wait(f"c{stage - 1}")] if stage else []
    freed: list[Op] = [Release(f"c{stage - 1}")] if stage else []
    work: list[Op] = [Run(draw.choice(units).name, draw.randint(0, 9), "w") for _ in range(draw.randint(0, 2))]
    if stage == stages - 1:
        return (*taken, Run(draw.choice(units).name, draw.randint(1, 9), "last"), *work, *freed)
    out = f"c{stage}"
    if draw.random() < 0.5:
        made: list[Op] = [copy(draw.choice(units).name, draw.randint(0, 9), draw.choice((0, 3, 25)), out, label="copy")]
    else:
        made = [Run(draw.choice(units).name, draw.randint(0, 9), "run"), Commit(out)]
    return (*taken, Acquire(out), *work, *made, *freed)


def random_phases(seed: int) -> Program:
    """A pipeline whose first unit is busiest, and rests in every second phase: its gaps hold many repeats."""
    draw = Random(seed)
    units = tuple(
        Unit(f"u{i}", draw.choice(UNIT_CLASSES), draw.choice((1, 1, 1, 2))) for i in range(draw.randint(3, 5))
    )
    stages = draw.randint(2, 5)
    channels = tuple(Channel(f"c{i}", draw.randint(1, 4)) for i in range(stages - 1))
    bodies: list[list[Op]] = [[] for _ in range(stages)]
    for phase in range(draw.randint(2, 4)):
        trips = draw.choice((1, 20, 60, 100))
        for stage, body in enumerate(bodies):
            body.append(Loop(trips, _stage(draw, units if phase % 2 == 0 else units[1:], stage, stages)))
    outer = draw.choice((1, 1, 5))
    roles = []
    for stage, body in enumerate(bodies):
        first = [Run("u0", draw.choice((500, 900)), "big")] if draw.random() < 0.6 else []
        last = [Run("u0", draw.choice((5, 90)), "big")] if draw.random() < 0.6 else []
        roles.append(Role(f"r{stage}", (Loop(outer, (*first, *body, *last)),)))
    return Program(f"phases {seed}", units, channels, tuple(roles))

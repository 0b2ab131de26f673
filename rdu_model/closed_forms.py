"""Closed forms of metapipelines, to set beside a simulation: published equations, and where each of them holds.

Times are cycles. The forms of Spatial's runtime model have constants for starting, ending and synchronising, which are
parameters here: `PUBLISHED` has the published values, `IDEAL` none. A simulated metapipe that drains, whose stages take
constant times, with double buffers, takes exactly the IDEAL form. A pipe that streams on into the next step of the pipe
around it is faster, and so is one whose stages take turns at being slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise


@dataclass(frozen=True)
class Sync:
    """What control costs. start: of a pipe, once (start-up and shut-down). token: of each child and step of a metapipe.
    step: of each child and step of a sequential pipe; advance: of each of its steps.
    """

    start: int = 0
    token: int = 0
    step: int = 0
    advance: int = 0


IDEAL = Sync()
# Source: Spatial, RuntimeModel.scala: startup 2, shutdown 1, metaSync 1, seqSync 1, seqAdvance 2.
PUBLISHED = Sync(start=3, token=1, step=1, advance=2)
# Source: the same file, the constant of an inner pipe.
INNER_PIPE_CYCLES = 4
# Source: the same file, the least cycles of a load from DRAM.
DRAM_CYCLES = 170


def inner_pipe(steps: int, interval: int, latency: int, constant: int = INNER_PIPE_CYCLES) -> int:
    """A pipe of single operations: (N - 1) * II + L + 4."""
    return (steps - 1) * interval + latency + constant


def metapipe(times: Sequence[int], steps: int, sync: Sync = IDEAL) -> int:
    """Stages that work at the same time on different steps: sum + (N - 1) * max, with double buffers between them."""
    return sync.start + max(times) * (steps - 1) + sum(times) + sync.token * steps * len(times)


def sequential(times: Sequence[int], steps: int, sync: Sync = IDEAL) -> int:
    """Stages that work one after another: N * sum."""
    return sync.start + steps * (sum(times) + sync.step * len(times) + sync.advance)


def stream(times: Sequence[int], steps: int, sync: Sync = IDEAL) -> int:
    """Stages that pass elements on at once, so that no tile fills first: N * max. A fork of them takes as long."""
    return sync.start + max(times) * steps + (1 if sync.start else 0)


@dataclass(frozen=True)
class Draining:
    """A pipe that is empty before the pipe around it goes on: its stages' cycles, or pipes inside it."""

    steps: int
    stages: tuple[int | Draining, ...]


def draining(pipe: Draining, sync: Sync = IDEAL) -> int:
    """A metapipe of metapipes that drain: the form of `metapipe`, from the inside out."""
    times = [stage if isinstance(stage, int) else draining(stage, sync) for stage in pipe.stages]
    return metapipe(times, pipe.steps, sync)


def single_buffers(times: Sequence[int], steps: int) -> int:
    """A metapipe with one slot in each buffer: neighbours take turns, so the slowest pair is the interval."""
    pairs = [left + right for left, right in pairwise(times)]
    return sum(times) + (steps - 1) * max([*pairs, *times])


def chain(times: Sequence[Sequence[int]], depths: Sequence[int]) -> int:
    """A metapipe whose stages take another time in every step: times[stage][step], depths of the buffers between.

    No closed form, but a recurrence: a stage begins a step when it has ended the one before, when the stage before it
    has ended this one, and when a slot is free because the stage behind it has ended the one `depth` steps before.
    """
    ends = [[0] * len(times[0]) for _ in times]
    for step in range(len(times[0])):
        for stage, of_steps in enumerate(times):
            waits = [ends[stage][step - 1]] if step else [0]
            waits += [ends[stage - 1][step]] if stage else []
            if stage < len(depths) and step >= depths[stage]:
                waits.append(ends[stage + 1][step - depths[stage]])
            ends[stage][step] = max(waits) + of_steps[step]
    return ends[-1][-1]


def skip_edge(times: Sequence[int], steps: int, source: int, reader: int, depth: int) -> int:
    """A metapipe of equal stages whose stage `reader` also reads what `source` made, through `depth` slots.

    A slot is taken from the start of the source to the end of the reader, and `depth` tiles share that time. Where that
    is no more than `depth` times the slowest stage, the edge costs nothing. Exact where `depth` divides the steps.
    """
    held = sum(times[source : reader + 1])
    slowest = max(times)
    if held <= depth * slowest:
        return metapipe(times, steps)
    rounds, rest = divmod(steps - 1, depth)
    return sum(times) + rounds * held + rest * slowest


def enough_slots(times: Sequence[int], source: int, reader: int) -> int:
    """Slots with which an edge costs nothing in the long run; with equal stages the distance and one."""
    return -(-sum(times[source : reader + 1]) // max(times))


def dram_load(elements: int, in_parallel: int, outer_iterations: int = 1) -> Fraction:
    """The least cycles of a load from DRAM: 170 + elements / ticks. Source: Spatial, RuntimeModel.scala."""
    ticks = max(1, outer_iterations) * max(1, elements // in_parallel)
    return DRAM_CYCLES + Fraction(elements, ticks)


def element(in_bytes: int, ops: int, out_bytes: int, bytes_per_cycle: int, ops_per_cycle: int) -> Fraction:
    """An operator's cycles for an element of a stream: its slowest of reading, computing, writing. Source: STeP.

    A direct FIFO has no bytes to read or write.
    """
    moved = max(Fraction(in_bytes, bytes_per_cycle), Fraction(out_bytes, bytes_per_cycle))
    return max(moved, Fraction(ops, ops_per_cycle))


def gemm_cycles(m: int, n: int, k: int, lanes: int, stages: int, along_m: int = 1, along_n: int = 1) -> int:
    """ceil(M / (p_lane W)) * ceil(N / (p_stage H)) * K. Source: DFModel, kernel_level.py."""
    return -(-m // (along_m * lanes)) * -(-n // (along_n * stages)) * k


def simd_cycles(m: int, n: int, lanes: int, along_m: int = 1) -> int:
    """ceil(M / (p_lane W)) * N. Source: DFModel, kernel_level.py."""
    return -(-m // (along_m * lanes)) * n


def section_s(
    kernel_cycles: Sequence[int],
    tiles: int,
    clock_hz: int,
    off_chip_s: float = 0.0,
    network_s: float = 0.0,
    weights_s: float = 0.0,
) -> float:
    """Seconds of a fused section: the weights come first, then the slowest of its kernels and of what it moves.

    kernel_cycles: of each kernel for one of the `tiles`. off_chip_s, network_s: of all tiles' bytes at their rates.
    weights_s: of its weights, divided by the micro-batches that they serve. Source: DFModel, kernel_level.py.
    """
    return max(max(kernel_cycles) * tiles / clock_hz, off_chip_s, network_s) + weights_s


def ring_share(members: int) -> Fraction:
    """What each of a ring sends for an all-reduce, in payloads: 2 (p - 1) / p. Source: DFModel."""
    return Fraction(2 * (members - 1), members)

"""What a tile costs a stage, in cycles, on so many PCUs: quantised to the systolic array, or to the SIMD lanes.

Work is a grid of blocks that PCUs share out. A contraction has ceil(rows / lanes) x ceil(columns / stages) blocks
for each point of the grouped dims, and a block takes ceil(depth / packed_macs) cycles; vector work has
ceil(elements / lanes) blocks, and a block takes as many cycles as its ops need passes through the SIMD stages (the tail
does one special op a pass). Where a state goes from element to element, the next of its row waits until a value came
through a PCU's stages (assumed; a register inside a stage would be sooner), while other rows fill the pipeline; where
there are few of these, parts of a row are taken side by side. Operands of every type are multiplied at the rate of
bf16, narrower ones are converted on their way into the array.
Structure after DFModel: ceil(M / (p_lane W)) * ceil(N / (p_stage H)) * K.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from patterns.axes import points
from patterns.carried import Way, ways
from patterns.pipeline.hashed import hashed_once
from rdu_model.ask import Asked
from rdu_model.machine import Machine, macs_per_pcu

# Grids that are kept with their shares: those of a stage's tiles are asked for again and again.
KEPT = 16384


@hashed_once
@dataclass(frozen=True)
class Grid:
    """`blocks` along up to three axes, each of `block_cycles` on one PCU; `least_cycles` on however many."""

    blocks: tuple[int, ...]
    block_cycles: int
    least_cycles: int = 0

    @property
    def total_cycles(self) -> int:
        """Cycles on a single PCU."""
        return max(prod(self.blocks) * self.block_cycles, self.least_cycles)


def grid(asked: Asked, sizes: Mapping[str, int], machine: Machine) -> Grid:
    """The blocks of one execution with these extents."""
    sizes = asked.extents(sizes)
    if asked.unit_class == "matrix":
        # A step that pads alone feed has no point to make: it passes like the least.
        grouped, rows, columns = (max(1, points(dims, sizes)) for dims in (asked.grouped, asked.rows, asked.columns))
        if asked.lookup:
            grouped, rows = grouped * asked.lookup.rows(sizes), rows * asked.lookup.each(sizes)
        blocks = (grouped, -(-rows // machine.pcu_lanes), -(-columns // machine.pcu_stages))
        return Grid(blocks, -(-points(asked.depth, sizes) // machine.packed_macs))
    way = _way(asked, sizes, machine)
    demand = way.demand
    reads, out = asked.kind.touched(asked.node, asked.graph, sizes)
    elements = max(1, *reads, out)
    passes = max(1, -(-demand.vector_ops // (elements * machine.pcu_stages)), -(-demand.special_ops // elements))
    return Grid((-(-elements // machine.pcu_lanes),), passes, way.in_a_row * machine.pcu_stages)


def _way(asked: Asked, sizes: Mapping[str, int], machine: Machine) -> Way:
    """From element to element, unless even one PCU would have done all parts side by side by then."""
    first, *others = ways(asked.graph, asked.node, sizes)
    lanes = machine.pcu_lanes * machine.pcu_stages
    sooner = [way for way in others if first.in_a_row * machine.pcu_stages > -(-way.demand.vector_ops // lanes)]
    return sooner[0] if sooner else first


@lru_cache(maxsize=KEPT)
def spread(blocks: tuple[int, ...], pcus: int) -> tuple[int, ...]:
    """How many of the blocks along each axis one PCU has, where the slowest PCU has the fewest in all.

    Of equal ways the most even one, which reads operands again the fewest times.
    """
    return min(_spreads(blocks, pcus), key=lambda each: (prod(each), sum(each)))


def _spreads(blocks: tuple[int, ...], pcus: int) -> list[tuple[int, ...]]:
    """Every useful way: for each axis but the last each quotient, the last gets the PCUs that are left."""
    if len(blocks) == 1:
        return [(-(-blocks[0] // max(1, pcus)),)]
    return [
        (each, *rest)
        for each, needed in _quotients(blocks[0])
        if needed <= pcus
        for rest in _spreads(blocks[1:], pcus // needed)
    ]


def _quotients(blocks: int) -> list[tuple[int, int]]:
    """(blocks of one PCU, fewest PCUs that give it), one for each number of blocks that is possible."""
    found = []
    pcus = 1
    while True:
        each = -(-blocks // pcus)
        found.append((each, pcus))
        if each == 1:
            return found
        pcus = -(-blocks // (each - 1))


@lru_cache(maxsize=KEPT)
def cycles(work: Grid, pcus: int) -> int:
    """Cycles of the slowest PCU."""
    return max(prod(spread(work.blocks, pcus)) * work.block_cycles, work.least_cycles)


@lru_cache(maxsize=KEPT)
def fewest_pcus(blocks: tuple[int, ...], most_each: int) -> int:
    """The fewest PCUs with which none has more than `most_each` >= 1 blocks."""
    if len(blocks) == 1:
        return -(-blocks[0] // most_each)
    needs = [
        needed * fewest_pcus(blocks[1:], most_each // each)
        for each, needed in _quotients(blocks[0])
        if each <= most_each
    ]
    return min(needs)


def rereads(asked: Asked, work: Grid, pcus: int) -> tuple[int, ...]:
    """How often each read is streamed from its PMUs: a contraction reads its rows again for every pass over columns."""
    once = [1] * len(asked.read_dims)
    if asked.unit_class == "matrix":
        _, row_passes, column_passes = spread(work.blocks, pcus)
        once[asked.column_read], once[1 - asked.column_read] = row_passes, column_passes
    return tuple(once)


def issued_flops(asked: Asked, work: Grid, machine: Machine) -> int:
    """FLOPs of all blocks, padding included: what the array is busy with."""
    return work.total_cycles * macs_per_pcu(machine) * 2 if asked.unit_class == "matrix" else 0

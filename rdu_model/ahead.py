"""How the parts of a section, one after another, share off-chip memory: what streams bring early hides the rest.

While the stages of one part work, and while results are on their way, memory fills what the streams of other parts may
hold, those that are needed next first. What a part finds there it need not wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rdu_model.homes import Memory

# Executions of a repeated block until each begins as the one before it began.
SETTLED = 3
# Streams never share memory as well as they do here: a part of what running ahead must hide counts as not hidden.
DOUBT = 0.2


@dataclass(frozen=True)
class Part:
    """A node or a loop of a section. needs: the parts whose results it reads.

    cycles: it takes, with all its bytes there. tail: cycles after its last byte came. first: bytes that must be there
    before it begins. moved: those that come and go while it works. ahead: how many of them may come before it starts.
    """

    needs: tuple[int, ...]
    cycles: int
    tail: int
    first: int
    moved: int
    ahead: int


def time_of(parts: Sequence[Part], early_bytes: int, memory: Memory, repeated: bool) -> float:
    """Cycles of one execution. early_bytes: that come before they may. repeated: each execution begins with what the
    one before it made, and streams run ahead of it.
    """
    rate = memory.pace.amount / memory.pace.cycles
    took = _walk(parts, rate, memory.latency_cycles, SETTLED if repeated else 1)
    alone = _walk(parts, rate, memory.latency_cycles, 0)
    least = sum(part.first + part.moved for part in parts) / rate
    return max(took, least) * (1 - DOUBT) + (alone + early_bytes / rate) * DOUBT


def _walk(parts: Sequence[Part], rate: float, latency_cycles: int, executions: int) -> float:
    """Cycles of the last of so many executions; 0: of one in which nothing comes early."""
    running = [number for number, part in enumerate(parts) if part.ahead] if executions else []
    there = [0.0] * len(parts)
    begin = memory = took = 0.0
    for _ in range(max(1, executions)):
        ends: list[float] = []
        for number, part in enumerate(parts):
            start = max([ends[needed] for needed in part.needs], default=begin)
            if memory < start:
                _fill(parts, there, running, number, executions > 1, (start - memory) * rate)
                memory = start
            if part.first or part.moved:
                missing = part.first - there[number]
                if missing > 0:
                    memory += missing / rate
                    start = memory + latency_cycles
                missing = part.moved - max(0.0, there[number] - part.first)
                there[number] = 0.0
                memory += missing / rate
                came = memory + latency_cycles if missing > 0 else start
                ends.append(max(start + part.cycles, came + part.tail))
            else:
                ends.append(start + part.cycles)
        end = max(ends, default=begin)
        if memory < end:
            _fill(parts, there, running, 0, executions > 1, (end - memory) * rate)
            memory = end
        begin, took = end, end - begin
    return took


def _fill(
    parts: Sequence[Part], there: list[float], running: list[int], number: int, repeated: bool, idle_bytes: float
) -> None:
    """Memory that rests brings what the next parts may hold; after the last comes the first again."""
    for other in [n for n in running if n >= number] + [n for n in running if repeated and n < number]:
        brought = min(idle_bytes, parts[other].ahead - there[other])
        there[other] += brought
        idle_bytes -= brought
        if idle_bytes <= 0:
            return

"""How the parts of a section, one after another, share off-chip memory: what streams bring early hides the rest.

While the stages of one part work, and while results are on their way, memory fills what the streams of other parts may
hold, those that are needed next first. What a part finds there it need not wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from rdu_model.homes import Memory

# Executions of a repeated block until each begins as the one before it began.
SETTLED = 3
# Streams never share memory as well as they do here: a part of what running ahead must hide counts as not hidden.
DOUBT = 0.2


class Part(NamedTuple):
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


class Unhidden(NamedTuple):
    """What is found of an execution quickly. streamed: cycles that its bytes need. alone: cycles if nothing came early,
    and those of the bytes that come before they may.
    """

    streamed: float
    alone: float

    def cycles(self, took: float = 0.0) -> float:
        """Cycles of one execution that takes so long by itself; at least, if that is not known."""
        return max(took, self.streamed) * (1 - DOUBT) + self.alone * DOUBT


def unhidden(parts: Sequence[Part], early_bytes: int, memory: Memory) -> Unhidden:
    """Of one execution, repeated or not. early_bytes: that come before they may."""
    rate = memory.pace.amount / memory.pace.cycles
    streamed = sum([part.first + part.moved for part in parts]) / rate
    return Unhidden(streamed, _alone(parts, rate, memory.latency_cycles) + early_bytes / rate)


def time_of(parts: Sequence[Part], known: Unhidden, memory: Memory, repeated: bool) -> float:
    """Cycles of one execution. repeated: each begins with what the one before it made, and streams run ahead of it."""
    rate = memory.pace.amount / memory.pace.cycles
    return known.cycles(_walk(parts, rate, memory.latency_cycles, SETTLED if repeated else 1))


def _alone(parts: Sequence[Part], rate: float, latency_cycles: int) -> float:
    """Cycles of an execution in which nothing comes early."""
    memory = 0.0
    ends: list[float] = []
    for needs, cycles, tail, first, moved, _ in parts:
        start = 0.0
        if needs:
            start = max([ends[needed] for needed in needs]) if len(needs) > 1 else ends[needs[0]]
        if memory < start:
            memory = start
        if first or moved:
            if first:
                memory += first / rate
                start = memory + latency_cycles
            memory += moved / rate
            came = memory + latency_cycles if moved else start
            ends.append(max(start + cycles, came + tail))
        else:
            ends.append(start + cycles)
    return max(ends, default=0.0)


def _walk(parts: Sequence[Part], rate: float, latency_cycles: int, executions: int) -> float:
    """Cycles of the last of so many executions."""
    streams = Streams(parts, executions)
    there, fill = streams.there, streams.fill
    begin = memory = took = 0.0
    for execution in range(executions):
        ends: list[float] = []
        for number, (needs, cycles, tail, first, moved, _) in enumerate(parts):
            start = begin
            if needs:
                start = max([ends[needed] for needed in needs]) if len(needs) > 1 else ends[needs[0]]
            if memory < start:
                if streams.running:
                    fill(execution, number, (start - memory) * rate)
                memory = start
            if not first and not moved:
                ends.append(start + cycles)
                continue
            held = there[number]
            there[number] = 0.0
            if first > held:
                memory += (first - held) / rate
                start = memory + latency_cycles
            missing = moved - (held - first if held > first else 0.0)
            memory += missing / rate
            came = memory + latency_cycles if missing > 0 else start
            ends.append(max(start + cycles, came + tail))
        end = max(ends, default=begin)
        if memory < end:
            fill(execution, len(parts), (end - memory) * rate)
            memory = end
        begin, took = end, end - begin
    return took


class Streams:
    """What the parts' streams hold, in `there`, while memory that rests brings what the next parts may hold.

    Streams are counted through all executions, as they are needed: those before `front` are full, or have been read.
    So each is filled once an execution, however often memory rests.
    """

    def __init__(self, parts: Sequence[Part], executions: int) -> None:
        self.parts = parts
        self.there = [0.0] * len(parts)
        self.running = [number for number, part in enumerate(parts) if part.ahead]
        self.before = [0, *accumulate([part.ahead > 0 for part in parts])]
        self.count = len(self.running)
        self.repeated = executions > 1
        self.front = 0

    def fill(self, execution: int, number: int, idle_bytes: float) -> None:
        """Memory brings so many bytes before part `number` begins; after the last part comes the first again."""
        count = self.count
        first = execution * count + self.before[number]
        last = first + count if self.repeated else count
        # As a rule all are full already.
        if self.front >= last:
            return
        self.front = max(self.front, first)
        while idle_bytes > 0 and self.front < last:
            other = self.running[self.front % count]
            most = self.parts[other].ahead
            missing = most - self.there[other]
            if missing > idle_bytes:
                self.there[other] += idle_bytes
                return
            self.there[other] = most
            idle_bytes -= missing
            self.front += 1

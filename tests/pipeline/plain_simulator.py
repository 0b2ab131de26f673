"""The rules of a Program, read aloud: a slow simulator that shares no code with the real one.

Scripts are walked by generators, every cycle with an event is settled by repeating the three phases literally.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from patterns.pipeline.program import Program
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Fill,
    Finish,
    Free,
    Loop,
    Op,
    Release,
    Run,
    Signal,
    Start,
    Wait,
)

# role, label, unit, ready, start, end, usable
PlainSpan = tuple[str, str, str, int, int, int, int]


def walk(script: tuple[Op, ...]) -> Iterator[Op]:
    """Every op that a role runs, loops unrolled."""
    for op in script:
        if isinstance(op, Loop):
            for _ in range(op.count):
                yield from walk(op.body)
        else:
            yield op


class PlainRole:
    """Where a role is: its op (None at the end), since when, and what it holds."""

    def __init__(self, index: int, name: str, script: tuple[Op, ...]) -> None:
        self.index, self.name = index, name
        self.ops = walk(script)
        self.op: Op | None = next(self.ops, None)
        self.since = 0
        self.asked = False  # whether it asked a unit for the Run it is at
        self.issued: dict[str, list[list[int]]] = defaultdict(list)  # channel: [tile, bytes not issued]
        self.held: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.started: dict[str, list[Any]] = defaultdict(list)
        self.taken: Counter[str] = Counter()  # arrivals taken by barrier
        self.wait_cycles: Counter[str] = Counter()

    def next_op(self, now: int) -> None:
        self.op = next(self.ops, None)
        self.since, self.asked = now, False


class PlainSimulator:
    """Runs one Program; `total`, `spans`, `stalls` and `deadlocked` say what happened."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.roles = [PlainRole(i, role.name, role.script) for i, role in enumerate(program.roles)]
        self.channels = {c.name: c for c in program.channels}
        self.arrived: dict[tuple[str, int], int] = {}  # channel, tile: bytes arrived
        self.released: Counter[tuple[str, int]] = Counter()
        self.made: Counter[str] = Counter()
        self.read: Counter[tuple[str, int]] = Counter()
        self.arrivals: Counter[str] = Counter()
        self.waiting: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)  # unit, role: its line
        self.running: dict[str, list[dict[str, Any]]] = {unit.name: [] for unit in program.units}
        self.flying: list[dict[str, Any]] = []
        self.spans: list[PlainSpan] = []
        self.now = self.total = 0
        while self.cycle():
            pass
        self.deadlocked = any(role.op is not None for role in self.roles)
        self.stalls = {(r.name, what): n for r in self.roles for what, n in r.wait_cycles.items() if n}

    def cycle(self) -> bool:
        moved = True
        while moved:
            moved = self.ends()
            while self.advance():
                moved = True
            moved = self.units_take() or moved
        later = [work["end"] for works in self.running.values() for work in works]
        later += [work["usable"] for work in self.flying]
        if not later:
            return False
        self.now = self.total = min(later)
        return True

    def ends(self) -> bool:
        ended = False
        for works in self.running.values():
            for work in [w for w in works if w["end"] == self.now]:
                works.remove(work)
                ended = True
                if isinstance(work["op"], Run):
                    work["role"].next_op(self.now)
                else:
                    self.flying.append(work)
        for work in [w for w in self.flying if w["usable"] == self.now]:
            self.flying.remove(work)
            ended = True
            work["done"] = True
            for effect, tile in work["effects"]:
                self.effect(effect, tile)
        return ended

    def effect(self, effect: Fill | Free | Signal, tile: int) -> None:
        if isinstance(effect, Fill):
            self.arrived[effect.channel, tile] += self.fill_bytes(effect)
        elif isinstance(effect, Free):
            self.released[effect.channel, tile] += 1
        else:
            self.arrivals[effect.barrier] += 1

    def fill_bytes(self, op: Fill | Commit) -> int:
        slot_bytes = self.channels[op.channel].slot_bytes
        return (op.num_bytes or slot_bytes) if slot_bytes else 1

    def bind(self, role: PlainRole, effect: Fill | Free | Signal | Commit | Release) -> int:
        if isinstance(effect, Fill | Commit):
            entry = role.issued[effect.channel][0]
            entry[1] -= self.fill_bytes(effect)
            if entry[1] == 0:
                role.issued[effect.channel].pop(0)
            return entry[0]
        if isinstance(effect, Free | Release):
            return role.held[effect.channel, effect.reader].pop(0)
        return 0

    def advance(self) -> bool:
        moved = False
        for role in self.roles:
            moved = self.advance_role(role) or moved
        return moved

    def advance_role(self, role: PlainRole) -> bool:
        moved = False
        while role.op is not None and TRIES[type(role.op)](self, role, role.op):
            if type(role.op) in WAITS:
                verb, field = WAITS[type(role.op)]
                role.wait_cycles[f"{verb} {getattr(role.op, field)}"] += self.now - role.since
            role.next_op(self.now)
            moved = True
        return moved

    def ask(self, role: PlainRole, op: Run | Start) -> bool:
        if not role.asked:
            effects = [(effect, self.bind(role, effect)) for effect in getattr(op, "then", ())]
            line = self.waiting[op.unit, role.index]
            work = {"op": op, "role": role, "effects": effects, "ready": None if line else self.now, "done": False}
            line.append(work)
            role.asked = True
            if isinstance(op, Start):
                role.started[op.handle].append(work)
        return isinstance(op, Start)

    def acquire(self, role: PlainRole, op: Acquire) -> bool:
        tile, channel = self.made[op.channel], self.channels[op.channel]
        if tile >= channel.slots and self.released[op.channel, tile - channel.slots] < channel.readers:
            return False
        self.made[op.channel] += 1
        self.arrived[op.channel, tile] = 0
        role.issued[op.channel].append([tile, channel.slot_bytes or 1])
        return True

    def wait(self, role: PlainRole, op: Wait) -> bool:
        tile = self.read[op.channel, op.reader]
        if self.arrived.get((op.channel, tile), -1) < (self.channels[op.channel].slot_bytes or 1):
            return False
        self.read[op.channel, op.reader] += 1
        role.held[op.channel, op.reader].append(tile)
        return True

    def await_arrivals(self, role: PlainRole, op: Await) -> bool:
        if self.arrivals[op.barrier] - role.taken[op.barrier] < op.count:
            return False
        role.taken[op.barrier] += op.count
        return True

    def finish(self, role: PlainRole, op: Finish) -> bool:
        if not role.started[op.handle][0]["done"]:
            return False
        role.started[op.handle].pop(0)
        return True

    def commit(self, role: PlainRole, op: Commit) -> bool:
        self.effect(Fill(op.channel, op.num_bytes), self.bind(role, op))
        return True

    def release(self, role: PlainRole, op: Release) -> bool:
        self.effect(Free(op.channel, op.reader), self.bind(role, op))
        return True

    def arrive(self, role: PlainRole, op: Arrive) -> bool:
        self.effect(Signal(op.barrier), 0)
        return True

    def units_take(self) -> bool:
        taken = False
        for unit in self.program.units:
            while len(self.running[unit.name]) < unit.lanes:
                fronts = [line[0] for (name, _), line in self.waiting.items() if name == unit.name and line]
                if not fronts:
                    break
                work = min(fronts, key=lambda w: (w["ready"], w["role"].index))
                line = self.waiting[unit.name, work["role"].index]
                line.pop(0)
                if line:
                    line[0]["ready"] = self.now
                self.begin(unit.name, work)
                taken = True
        return taken

    def begin(self, unit: str, work: dict[str, Any]) -> None:
        op, role = work["op"], work["role"]
        work["end"] = self.now + op.cycles
        work["usable"] = work["end"] + getattr(op, "latency", 0)
        self.running[unit].append(work)
        self.spans.append((role.name, op.label, unit, work["ready"], self.now, work["end"], work["usable"]))
        if isinstance(op, Run):
            role.wait_cycles[f"unit {unit}"] += self.now - role.since


TRIES: dict[type[Op], Any] = {
    Run: PlainSimulator.ask,
    Start: PlainSimulator.ask,
    Finish: PlainSimulator.finish,
    Acquire: PlainSimulator.acquire,
    Commit: PlainSimulator.commit,
    Wait: PlainSimulator.wait,
    Release: PlainSimulator.release,
    Arrive: PlainSimulator.arrive,
    Await: PlainSimulator.await_arrivals,
}
WAITS: dict[type[Op], tuple[str, str]] = {
    Acquire: ("acquire", "channel"),
    Wait: ("wait", "channel"),
    Await: ("await", "barrier"),
    Finish: ("finish", "handle"),
}

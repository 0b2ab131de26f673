"""Steps that ask units for work, and what an asynchronous one does when its result is usable."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any

from patterns.pipeline.instructions import HOLDING, Instructions
from patterns.pipeline.script import Effect, Fill, Free, Run, Signal, Start
from patterns.pipeline.state import Anchor, Applied, Work

Bind = Callable[[], int]


def emit_run(code: Instructions, op: Run) -> None:
    """The step that asks a unit and waits for the end."""
    work, role, cause, touched = _new_work(code, op), code.role, code.state.turns.cause, code.state.touched
    unit = work.unit
    asked, line, queue = unit.asked, unit.lines[role], unit.queue

    def run(now: int) -> int:
        if asked[role]:
            line.append((work, ()))
            return HOLDING
        asked[role] = True
        heappush(queue, (now, role, work, (), cause[role]))
        if not unit.touched:
            unit.touched = True
            touched.append(unit)
        return HOLDING

    code.add(op, run, f"unit {op.unit}")


def emit_start(code: Instructions, op: Start) -> None:
    """The step that asks a unit and goes on. The role's first request at a unit is in its queue, others in its line."""
    work, role, cause, touched = _new_work(code, op), code.role, code.state.turns.cause, code.state.touched
    binds, here = _bind_effects(code, op, work), len(code.steps) + 1
    unit = work.unit
    asked, line, queue = unit.asked, unit.lines[role], unit.queue

    def start(now: int) -> int:
        bound = tuple([bind() for bind in binds])
        if asked[role]:
            line.append((work, bound))
            return here
        asked[role] = True
        heappush(queue, (now, role, work, bound, cause[role]))
        if not unit.touched:
            unit.touched = True
            touched.append(unit)
        return here

    code.add(op, start, f"unit {op.unit}")


def _bind_effects(code: Instructions, op: Start, work: Work) -> tuple[Bind, ...]:
    """What binds a Start's effects to tiles when it is issued; the work learns what to do with them in the end."""
    effects = [_EFFECT[type(effect)](code, effect) for effect in op.then]
    if (code.role, op.handle) in code.state.handles:
        handle = code.handle(op.handle)
        effects.append((handle, handle.issue, handle.done))
    work.waited, work.latency = False, op.latency
    work.anchors = tuple(anchor for anchor, _, _ in effects)
    work.applied = tuple(applied for _, _, applied in effects)
    return tuple(bind for _, bind, _ in effects)


def _new_work(code: Instructions, op: Run | Start) -> Work:
    works = code.state.works
    work = Work(len(works), code.role, code.unit(op.unit), op.cycles, op.label)
    works.append(work)
    return work


def bind_fill(code: Instructions, channel_name: str, num_bytes: int) -> tuple[Bind, int]:
    """What takes the tile that the next bytes of this role go to, and how many bytes they are."""
    channel, acquired = code.channel(channel_name), code.acquired(channel_name)
    tiles, need, slot_bytes = acquired.tiles, channel.need, code.slot_bytes[channel_name]
    amount = (num_bytes or need) if slot_bytes else 1
    role = code.state.program.roles[code.role].name

    def bind() -> int:
        acquired.issued += amount
        if acquired.issued < need:
            return tiles[0]
        if acquired.issued > need:
            raise ValueError(f"role {role!r} fills a tile of {channel_name!r} with more than {need} bytes")
        acquired.issued = 0
        return tiles.popleft()

    return tiles.popleft if amount == need else bind, amount


def _fill(code: Instructions, effect: Fill) -> tuple[Anchor, Bind, Applied]:
    channel = code.channel(effect.channel)
    bind, num_bytes = bind_fill(code, effect.channel, effect.num_bytes)
    return channel, bind, lambda tile, span: channel.fill(tile, num_bytes, -1, span)


def _free(code: Instructions, effect: Free) -> tuple[Anchor, Bind, Applied]:
    channel = code.channel(effect.channel)
    return channel, code.held(effect.channel, effect.reader).popleft, lambda tile, span: channel.free(tile, -1, span)


def _signal(code: Instructions, effect: Signal) -> tuple[Anchor, Bind, Applied]:
    barrier = code.barrier(effect.barrier)
    return barrier, lambda: 0, lambda tile, span: barrier.arrive(-1, span)


_EFFECT: dict[type[Effect], Callable[[Instructions, Any], tuple[Anchor, Bind, Applied]]] = {
    Fill: _fill,
    Free: _free,
    Signal: _signal,
}

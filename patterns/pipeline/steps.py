"""From ops to steps: one function for each type of op."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappush
from typing import Any

from patterns.pipeline.instructions import BLOCKED, Instructions, LoopSite
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Effect,
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
from patterns.pipeline.state import ENDED, Anchor, Applied, RunState, Work

Bind = Callable[[], int]


def compile_role(state: RunState, role: int) -> Instructions:
    """The steps of one role; the last one ends it."""
    script = state.program.roles[role].script
    code = Instructions(state, role)
    for op in _all_ops(script):
        if isinstance(op, Finish):
            code.handle(op.handle)
    _emit_all(code, script)
    _emit_end(code)
    return code


def _all_ops(script: Iterable[Op]) -> Iterable[Op]:
    for op in script:
        yield op
        if isinstance(op, Loop):
            yield from _all_ops(op.body)


def _emit_all(code: Instructions, script: Iterable[Op]) -> None:
    for op in script:
        _EMIT[type(op)](code, op)


def _emit_end(code: Instructions) -> None:
    state, passes, role = code.state, code.state.passes, code.role

    def end(now: int) -> int:
        state.alive -= 1
        passes[role] = ENDED
        return BLOCKED

    code.add(None, end, "")


def _emit_acquire(code: Instructions, op: Acquire) -> None:
    channel, tiles, role = code.channel(op.channel), code.acquired(op.channel).tiles, code.role
    slots, readers, need = channel.slots, channel.readers, channel.need
    unread, missing, here = channel.unread, channel.missing, len(code.steps) + 1

    def acquire(now: int) -> int:
        tile = channel.made
        slot = tile % slots
        if unread[slot]:
            channel.acquirers.append(role)
            return BLOCKED
        unread[slot] = readers
        missing[slot] = need
        channel.made = tile + 1
        tiles.append(tile)
        return here

    code.add(op, acquire, f"acquire {op.channel}")


def _emit_commit(code: Instructions, op: Commit) -> None:
    bind, num_bytes = _bind_fill(code, op.channel, op.num_bytes)
    channel, role, cause, here = code.channel(op.channel), code.role, code.state.turns.cause, len(code.steps) + 1
    fill, popleft, slots = channel.fill, code.acquired(op.channel).tiles.popleft, channel.slots
    missing, waiters, wake = channel.missing, channel.waiters, code.state.turns.wake

    def commit_part(now: int) -> int:
        fill(bind(), num_bytes, role, cause[role])
        return here

    def commit(now: int) -> int:
        missing[popleft() % slots] = 0
        if waiters:
            wake(waiters, role, cause[role])
        return here

    code.add(op, commit if num_bytes == channel.need else commit_part, f"commit {op.channel}")


def _emit_wait(code: Instructions, op: Wait) -> None:
    channel, reader, role = code.channel(op.channel), op.reader, code.role
    held, waiters = code.held(op.channel, reader), channel.waiters
    slots, missing, taken, here = channel.slots, channel.missing, channel.taken, len(code.steps) + 1

    def wait(now: int) -> int:
        tile = taken[reader]
        if tile == channel.made or missing[tile % slots]:
            waiters.append(role)
            return BLOCKED
        taken[reader] = tile + 1
        held.append(tile)
        return here

    code.add(op, wait, f"wait {op.channel}")


def _emit_release(code: Instructions, op: Release) -> None:
    channel, role, cause, here = code.channel(op.channel), code.role, code.state.turns.cause, len(code.steps) + 1
    popleft, slots, unread = code.held(op.channel, op.reader).popleft, channel.slots, channel.unread
    acquirers, wake = channel.acquirers, code.state.turns.wake

    def release(now: int) -> int:
        slot = popleft() % slots
        left = unread[slot] - 1
        unread[slot] = left
        if acquirers and not left:
            wake(acquirers, role, cause[role])
        return here

    code.add(op, release, f"release {op.channel}")


def _emit_arrive(code: Instructions, op: Arrive) -> None:
    arrive, role, cause, here = code.barrier(op.barrier).arrive, code.role, code.state.turns.cause, len(code.steps) + 1

    def step(now: int) -> int:
        arrive(role, cause[role])
        return here

    code.add(op, step, f"arrive {op.barrier}")


def _emit_await(code: Instructions, op: Await) -> None:
    barrier, count, role, here = code.barrier(op.barrier), op.count, code.role, len(code.steps) + 1
    untaken, waiters = barrier.untaken, barrier.waiters
    untaken.setdefault(role, 0)

    def step(now: int) -> int:
        if untaken[role] < count:
            waiters.append(role)
            return BLOCKED
        untaken[role] -= count
        return here

    code.add(op, step, f"await {op.barrier}")


def _emit_finish(code: Instructions, op: Finish) -> None:
    handle, role, here = code.handle(op.handle), code.role, len(code.steps) + 1
    usable, waiting = handle.usable, handle.waiting

    def finish(now: int) -> int:
        oldest = handle.oldest
        if oldest in usable:
            usable.remove(oldest)
            handle.oldest = oldest + 1
            return here
        waiting.append(role)
        return BLOCKED

    code.add(op, finish, f"finish {op.handle}")


def _emit_loop(code: Instructions, op: Loop) -> None:
    if not op.count or not op.body:
        return
    left, passes, role, count = code.state.left, code.state.passes, code.role, op.count
    counter, first = len(left), len(code.steps) + 1
    left.append(0)

    def enter(now: int) -> int:
        left[counter] = count
        return first

    code.add(op, enter, "loop")
    site = len(code.loops)
    code.loops.append(LoopSite(role, op, first, first, counter))
    _emit_all(code, op.body)
    after = len(code.steps) + 1
    code.loops[site] = LoopSite(role, op, first, after - 1, counter)

    def again(now: int) -> int:
        trips = left[counter] - 1
        left[counter] = trips
        passes[role] += 1
        return first if trips else after

    code.add(None, again, "loop")


def _emit_run(code: Instructions, op: Run) -> None:
    work, role, cause, touched = _new_work(code, op), code.role, code.state.turns.cause, code.state.touched
    unit = work.unit
    asked, line, queue = unit.asked, unit.lines[role], unit.queue

    def run(now: int) -> int:
        if asked[role]:
            line.append((work, ()))
            return BLOCKED
        asked[role] = True
        heappush(queue, (now, role, work, (), cause[role]))
        if not unit.touched:
            unit.touched = True
            touched.append(unit)
        return BLOCKED

    code.add(op, run, f"unit {op.unit}")


def _emit_start(code: Instructions, op: Start) -> None:
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


def _bind_fill(code: Instructions, channel_name: str, num_bytes: int) -> tuple[Bind, int]:
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
    bind, num_bytes = _bind_fill(code, effect.channel, effect.num_bytes)
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
_EMIT: dict[type[Op], Callable[[Instructions, Any], None]] = {
    Run: _emit_run,
    Start: _emit_start,
    Finish: _emit_finish,
    Acquire: _emit_acquire,
    Commit: _emit_commit,
    Wait: _emit_wait,
    Release: _emit_release,
    Arrive: _emit_arrive,
    Await: _emit_await,
    Loop: _emit_loop,
}

"""From ops to steps: one function for each type of op."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from patterns.pipeline.instructions import BLOCKED, Instructions, LoopSite
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Finish, Loop, Op, Release, Run, Start, Wait
from patterns.pipeline.state import ENDED, RunState
from patterns.pipeline.work import bind_fill, emit_run, emit_start


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
    bind, num_bytes = bind_fill(code, op.channel, op.num_bytes)
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
    code.depth += 1
    _emit_all(code, op.body)
    code.depth -= 1
    after = len(code.steps) + 1
    code.loops[site] = LoopSite(role, op, first, after - 1, counter)

    def again(now: int) -> int:
        trips = left[counter] - 1
        left[counter] = trips
        passes[role] += 1
        return first if trips else after

    state, laps = code.state, code.state.laps

    def again_at_lap(now: int) -> int:
        laps[role] += 1
        if role == state.runner:
            state.alarm = 0
        return again(now)

    holds_loops = len(code.loops) > site + 1
    code.add(None, again_at_lap if holds_loops and not code.depth else again, "loop")


_EMIT: dict[type[Op], Callable[[Instructions, Any], None]] = {
    Run: emit_run,
    Start: emit_start,
    Finish: _emit_finish,
    Acquire: _emit_acquire,
    Commit: _emit_commit,
    Wait: _emit_wait,
    Release: _emit_release,
    Arrive: _emit_arrive,
    Await: _emit_await,
    Loop: _emit_loop,
}

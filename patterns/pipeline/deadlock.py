"""Why a run stopped before its end, and the channel depth that would do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from patterns.errors import Deadlock
from patterns.pipeline.instructions import Instructions
from patterns.pipeline.program import Program
from patterns.pipeline.script import Acquire, Await, Finish, Op, Wait
from patterns.pipeline.state import RunState
from patterns.pipeline.uses import flat_ops

DEEPEST = 1 << 16  # slots tried at most

Completes = Callable[[Program], bool]


def explain(state: RunState, instructions: list[Instructions], cycle: int, completes: Completes) -> Deadlock:
    """The error that tells each stuck role, its op and progress, the channel that is full or empty, and what would do.

    completes: whether a Program runs to its end; it is asked about deeper channels.
    """
    stuck = [(code, op) for code in instructions if (op := code.ops[state.pcs[code.role]]) is not None]
    lines = [f"program {state.program.name!r} stops at cycle {cycle:,} before its end:"]
    lines += [
        f"  role {_role_name(state, code)!r}{_progress(state, code)} {_BLOCKED[type(op)](code, op)}"
        for code, op in stuck
    ]
    full = dict.fromkeys(op.channel for _, op in stuck if isinstance(op, Acquire))
    lines.append(f"  {_remedy(state.program, tuple(full), completes)}")
    return Deadlock("\n".join(lines))


def _role_name(state: RunState, code: Instructions) -> str:
    return state.program.roles[code.role].name


def _progress(state: RunState, code: Instructions) -> str:
    """' (iteration 3 of 64, 2 of 8)', outer loops first; '' outside all loops."""
    here = [loop for loop in code.loops if state.left[loop.counter]]
    trips = [f"{loop.op.count - state.left[loop.counter] + 1:,} of {loop.op.count:,}" for loop in here]
    return f" (iteration {', '.join(trips)})" if trips else ""


def _blocked_acquire(code: Instructions, op: Acquire) -> str:
    slots = code.channel(op.channel).slots
    return f"waits for a free slot of {op.channel!r}, which is full ({slots} slot{'s' * (slots != 1)})"


def _blocked_wait(code: Instructions, op: Wait) -> str:
    channel = code.channel(op.channel)
    empty = channel.taken[op.reader] == channel.made
    why = "which is empty" if empty else "which is not all filled"
    reader = f" (as reader {op.reader})" if channel.readers > 1 else ""
    return f"waits for a tile of {op.channel!r}{reader}, {why}"


def _blocked_await(code: Instructions, op: Await) -> str:
    return (
        f"waits at barrier {op.barrier!r} with {code.barrier(op.barrier).untaken[code.role]:,} of {op.count:,} arrivals"
    )


def _blocked_finish(code: Instructions, op: Finish) -> str:
    return f"waits for {op.handle!r}"


_BLOCKED: dict[type[Op], Callable[[Instructions, Any], str]] = {
    Acquire: _blocked_acquire,
    Wait: _blocked_wait,
    Await: _blocked_await,
    Finish: _blocked_finish,
}


def _remedy(program: Program, full: tuple[str, ...], completes: Completes) -> str:
    """The smallest depth of one full channel, else of all together, that lets the program end."""
    alone: list[tuple[int, tuple[str, ...]]] = [
        (depth, (name,)) for name in full if (depth := _depth(program, (name,), completes))
    ]
    together = _depth(program, full, completes) if len(full) > 1 and not alone else 0
    if together:
        alone = [(together, full)]
    if not alone:
        limited = full and _most(program, full) > DEEPEST
        return f"no depth up to {DEEPEST:,} would do" if limited else "no depth would do"
    depth, names = min(alone, key=lambda found: found[0])
    each = "each of " if len(names) > 1 else ""
    return f"{depth:,} slots in {each}{', '.join(map(repr, names))} would do"


def _depth(program: Program, names: tuple[str, ...], completes: Completes) -> int:
    """The smallest depth of these channels, all alike, that lets the program end; 0 if none does."""
    most = min(_most(program, names), DEEPEST)
    enough = fails = min(channel.slots for channel in program.channels if channel.name in names)
    while not completes(_deeper(program, names, enough)):
        if enough >= most:
            return 0
        fails, enough = enough, min(2 * enough, most)
    while enough - fails > 1:
        middle = (fails + enough) // 2
        if completes(_deeper(program, names, middle)):
            enough = middle
        else:
            fails = middle
    return enough


def _most(program: Program, names: Iterable[str]) -> int:
    """The tiles made in the busiest of these channels: deeper is never of use."""
    made = dict.fromkeys(names, 0)
    for role in program.roles:
        for op, times in flat_ops(role.script):
            if isinstance(op, Acquire) and op.channel in made:
                made[op.channel] += times
    return max(made.values())


def _deeper(program: Program, names: tuple[str, ...], slots: int) -> Program:
    channels = (replace(c, slots=max(c.slots, slots)) if c.name in names else c for c in program.channels)
    return replace(program, channels=tuple(channels))

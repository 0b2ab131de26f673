"""How long a Program takes, and little else: as `simulate` has it, several times faster.

Where times follow from data (see tokens.py) roles run ahead of one another, and only units that several of them share
are served in the order of time. Periods are left out as jump.py does, but no spans, stalls or causes are kept.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from operator import sub

from patterns.pipeline.dataflow import Dataflow, SharedUnit, Signature, Step
from patterns.pipeline.dataflow_steps import Queues, Watch, Writer
from patterns.pipeline.program import Program
from patterns.pipeline.script import Loop, Run, Start
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from patterns.pipeline.tokens import SHARED, Wiring, wiring
from patterns.pipeline.uses import busy_cycles, counters, flat_ops

# After so many looks at a loop that found no period it is let be for twice as many boundaries as the last time.
LOOKS_IN_A_ROW = 2
# A look takes as long as so many moves of roles; all looks take at most one in SHARE of the moves. MOVES_FREE are free.
MOVES_PER_LOOK, SHARE, MOVES_FREE = 50, 3, 2000
# A run of more moves than these goes on in `simulate`, which finds more periods.
MOST_MOVES = 2_000_000


def totals(program: Program) -> Timeline:
    """The Timeline of a Program without spans, stalls, windows and steps. Raises errors.Deadlock."""
    return of_cycles(program, total_cycles(program))


def of_cycles(program: Program, cycles: int) -> Timeline:
    """The Timeline of a Program that takes so long, without spans, stalls, windows and steps."""
    return Timeline(cycles, cycles, (), (), busy_cycles(program), (), counters(program), steps=0)


def total_cycles(program: Program) -> int:
    """`simulate(program).total_cycles`. Raises errors.Deadlock."""
    wires = wiring(program)
    found = Duration(program, wires).cycles() if wires else None
    return simulate(program, spans=False).total_cycles if found is None else found


@dataclass(frozen=True)
class _Moment:
    signature: Signature
    counters: tuple[int, ...]
    cycle: int


class Duration:
    """A run in the order of data.

    moves, looks: how often a role went on, and the state was looked at. seen, misses, rests: by loop, its last moment,
    how many looks found no period, and how many of its boundaries are to be let be.
    """

    def __init__(self, program: Program, wires: Wiring) -> None:
        self.run = Dataflow(program)
        queues = _queues(program, wires, self.run)
        self.tiles = tuple(queues.tiles.values())
        watches = _watches(program, wires)
        self.steps: list[list[Step]] = [
            Writer(self.run, program, wires, queues, role, watch).steps for role, watch in enumerate(watches)
        ]
        self.moves = self.looks = 0
        self.seen: dict[int, _Moment] = {}
        self.misses: dict[int, int] = {}
        self.rests: dict[int, int] = {}

    def cycles(self) -> int | None:
        """Run to the end; None if not all roles reach it, or not soon."""
        run, advance, grant = self.run, self._advance, self.run.grant
        while True:
            advance()
            if run.due >= 0:
                self._look(run.due, run.lap)
                run.due = -1
            if self.moves > MOST_MOVES or not grant():
                break
        # Tiles that nobody reads are a mistake, which `simulate` explains.
        if not all(run.ended) or any(self.tiles):
            return None
        for role in range(len(run.ended)):
            run.close(role)
        return run.latest

    def _advance(self) -> None:
        """Let all roles go on as far as they can."""
        ready, steps, pcs, moves = self.run.ready, self.steps, self.run.pcs, 0
        while ready:
            role = ready.pop()
            code, pc = steps[role], pcs[role]
            while (following := code[pc]()) >= 0:
                pc = following
            pcs[role] = pc
            moves += 1
        self.moves += moves

    def _look(self, loop: int, lap: bool) -> None:
        """Jump over periods if this boundary of a loop ends one."""
        rest = 0 if lap else self.rests.get(loop, 0)
        if rest:
            self.rests[loop] = rest - 1
            return
        if self.looks * MOVES_PER_LOOK > MOVES_FREE + self.moves // SHARE:
            return
        self.looks += 1
        moment = self._moment()
        before = self.seen.get(loop)
        if before is not None and before.signature == moment.signature and self._jump(before, moment):
            self.misses[loop] = 0
            moment = self._moment()
        else:
            self.misses[loop] = misses = self.misses.get(loop, 0) + 1
            if not misses % LOOKS_IN_A_ROW:
                self.rests[loop] = 1 << misses // LOOKS_IN_A_ROW
        self.seen[loop] = moment

    def _moment(self) -> _Moment:
        run = self.run
        return _Moment(run.sign(), tuple(run.left), run.time + run.skipped)

    def _jump(self, before: _Moment, moment: _Moment) -> bool:
        """Leave out all periods like the one between two equal moments in which no loop ends; whether there are any."""
        run = self.run
        fall = tuple(map(sub, before.counters, moment.counters))
        moving = [counter for counter, by in enumerate(fall) if by]
        if not moving or min(fall) < 0 or any(sum(fall[c] > 0 for c in own) > 1 for own in run.counters):
            return False
        repeats = min((moment.counters[counter] - 1) // fall[counter] for counter in moving)
        if repeats < 1:
            return False
        for role, ended in enumerate(run.ended):
            if ended:
                run.close(role)
        run.left[:] = [left - repeats * by for left, by in zip(run.left, fall, strict=True)]
        run.skipped += repeats * (moment.cycle - before.cycle)
        return True


def _queues(program: Program, wires: Wiring, run: Dataflow) -> Queues:
    """All queues: slots are free from the start."""
    slots, tiles = {}, {}
    for channel in program.channels:
        for reader in range(channel.readers):
            key = channel.name, reader
            if key in wires.reader and channel.name in wires.maker:
                slots[key] = run.queue(wires.maker[channel.name], deque([0] * channel.slots))
                tiles[key] = run.queue(wires.reader[key], deque())
    handles = {key: run.queue(key[0], deque()) for key in sorted(wires.finished)}
    shared = {}
    for unit in program.units:
        if wires.sorts[unit.name] == SHARED:
            shared[unit.name] = len(run.shared)
            run.shared.append(SharedUnit(unit.lanes, len(program.roles)))
    return Queues(slots, tiles, handles, shared)


def _watches(program: Program, wires: Wiring) -> list[Watch]:
    """By role which of its loops are looked at: if any roles ask shared units those of these, for which others wait."""
    asking = [
        any(isinstance(op, Run | Start) and wires.sorts[op.unit] == SHARED for op, _ in flat_ops(role.script))
        for role in program.roles
    ]
    passed = [
        sum(times * op.count for op, times in flat_ops(role.script) if isinstance(op, Loop)) if asks else 0
        for role, asks in zip(program.roles, asking if any(asking) else [True] * len(asking), strict=True)
    ]
    runner = passed.index(max(passed, default=0)) if passed else -1
    return [("laps" if role == runner else "steady") if loops else "" for role, loops in enumerate(passed)]

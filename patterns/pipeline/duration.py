"""How long a Program takes, and little else: as `simulate` has it, several times faster.

Where times follow from data (see tokens.py) roles run ahead of one another, and only units that several of them share
are served in the order of time. Periods are left out as jump.py does, but no spans, stalls or causes are kept.
"""

from __future__ import annotations

from collections import deque
from itertools import compress
from operator import ne

from patterns.pipeline.dataflow import Dataflow, SharedUnit, Step
from patterns.pipeline.dataflow_periods import Moment, comes_next, glance, is_period, leave_out, look
from patterns.pipeline.dataflow_steps import Queues, Watch, Writer
from patterns.pipeline.program import Program
from patterns.pipeline.script import Loop, Run, Start
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from patterns.pipeline.tokens import SHARED, Wiring, wiring
from patterns.pipeline.uses import busy_cycles, counters, flat_ops

# After so many looks at a loop that found no period it is let be for twice as many boundaries as the last time.
LOOKS_IN_A_ROW = 2
# A look takes as long as so many moves of roles, a signature as MOVES_TO_SIGN more; all looks take at most one in SHARE
# of the moves. MOVES_FREE are free.
MOVES_PER_LOOK, MOVES_TO_SIGN, SHARE, MOVES_FREE = 10, 30, 3, 2000
# Where looks find periods more of them pay: so many moves for each that is found.
MOVES_FOR_FOUND = 120
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


class Duration:
    """A run in the order of data.

    moves, spent: how often a role went on, and as how many moves all looks count. left_out: cycles that were. seen,
    misses, rests: by loop, its last moment, how many looks found no period, and how many of its boundaries are to be
    let be.
    """

    def __init__(self, program: Program, wires: Wiring) -> None:
        self.run = Dataflow(program)
        queues = _queues(program, wires, self.run)
        self.tiles = tuple(queues.tiles.values())
        watches = _watches(program, wires)
        self.steps: list[list[Step]] = [
            Writer(self.run, program, wires, queues, role, watch).steps for role, watch in enumerate(watches)
        ]
        self.moves = self.spent = self.looks = self.next_lap = self.left_out = 0
        owner = {loop: role for role, own in enumerate(self.run.counters) for loop in own}
        self.loops = range(len(owner))
        self.owner = [owner[loop] for loop in self.loops]
        self.seen: dict[int, Moment] = {}
        self.misses: dict[int, int] = {}
        self.rests: dict[int, int] = {}

    def cycles(self) -> int | None:
        """Run to the end; None if not all roles reach it, or not soon."""
        run, grant = self.run, self.run.grant
        ready, steps, pcs = run.ready, self.steps, run.pcs
        while self.moves <= MOST_MOVES:
            # All roles go on as far as they can.
            while ready:
                role = ready.pop()
                code, pc = steps[role], pcs[role]
                while (following := code[pc]()) >= 0:
                    pc = following
                pcs[role] = pc
                self.moves += 1
            if run.due >= 0:
                self._look(run.due, run.lap)
                run.due, run.lap = -1, False
            if not grant():
                break
        # Tiles that nobody reads are a mistake, which `simulate` explains.
        if not all(run.ended) or any(self.tiles):
            return None
        for role in range(len(run.ended)):
            run.close(role)
        return run.latest

    def _look(self, loop: int, lap: bool) -> None:
        """Jump over periods if this boundary of a loop ends one."""
        rest = 0 if lap else self.rests.get(loop, 0)
        if rest:
            self.rests[loop] = rest - 1
            return
        if self.spent > MOVES_FREE + self.moves // SHARE and not (lap and self.moves > self.next_lap):
            return
        self.looks += 1
        self.spent += MOVES_PER_LOOK
        before, moment = self.seen.get(loop), glance(self.run)
        self.seen[loop] = moment
        alike = before is not None and before.outline == moment.outline
        loops = list(compress(self.loops, map(ne, before.left, moment.left))) if before and alike else []
        if lap or loops:
            self.spent += MOVES_TO_SIGN
            look(self.run, moment, self._going() if lap else {self.owner[one] for one in loops})
            self.next_lap = self.moves + SHARE * (MOVES_PER_LOOK + MOVES_TO_SIGN) if lap else self.next_lap
        if before and loops and (not before.times or self._jump(before, moment, loops)):
            if before.times:
                self.misses[loop] = 0
                self.spent -= MOVES_FOR_FOUND
                moment.time, moment.left, moment.times = self.run.time, self.run.left[:], {}
            return
        self.misses[loop] = misses = self.misses.get(loop, 0) + 1
        if not misses % LOOKS_IN_A_ROW:
            self.rests[loop] = 1 << misses // LOOKS_IN_A_ROW

    def _going(self) -> list[int]:
        return [role for role, over in enumerate(self.run.ended) if not over]

    def _jump(self, before: Moment, moment: Moment, loops: list[int]) -> bool:
        """Leave out all periods like the one between two moments in which no loop ends; whether there are any.

        loops: those whose counters have changed. Their roles are the ones that moved: one that moved otherwise would be
        elsewhere.
        """
        run, cycles, roles = self.run, moment.time - before.time, {self.owner[loop] for loop in loops}
        falls = [(loop, before.left[loop] - moment.left[loop]) for loop in loops]
        if any(by < 0 for _, by in falls) or len(roles) < len(loops) or not is_period(before, moment, roles):
            return False
        repeats = min([(run.left[loop] - 1) // by for loop, by in falls])
        until = comes_next(run, roles)
        if until is not None and cycles:
            repeats = min(repeats, (until - run.time - 1) // cycles)
        if repeats < 1:
            return False
        self.left_out += repeats * cycles
        for loop, by in falls:
            run.left[loop] -= repeats * by
        leave_out(run, before, moment, roles, repeats * cycles)
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
    readers = {channel.name: channel.readers for channel in program.channels}
    return Queues(slots, tiles, handles, shared, readers)


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

"""The mutable state of one run: turns, channels, barriers, handles and units. Lives and dies inside `simulate`.

Tiles are numbered from 0 by acquisition; tile n lives in slot n mod slots. A `span` is the index of the span that
makes something happen, and becomes the cause of whatever waited for it. `after` is the index of the role that makes
something happen, -1 for work that ended: a role listed after it moves in the same pass, others in the next one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from heapq import heappush
from itertools import count

from patterns.pipeline.program import Program

ENDED = 1 << 62  # the loop boundaries passed by a role that ended: more than any that moves
NEVER = ENDED + 1  # a count that is never reached

# What a Start does when its result is usable, by tile (or handle's serial number) and span.
Applied = Callable[[int, int], None]
# What is asked of a unit: time, role, work, bound tiles, cause.
Request = tuple[int, int, "Work", tuple[int, ...], int]
# Something in flight: when, serial number, the unit it holds (None: only latency), what, bound tiles, span.
Event = tuple[int, int, "UnitState | None", "Work", tuple[int, ...], int]


class Turns:
    """Which roles may move: `now` is a heap of roles in this pass, `later` those of the next pass."""

    __slots__ = ("cause", "later", "now")

    def __init__(self, roles: int) -> None:
        self.now = list(range(roles))
        self.later: list[int] = []
        self.cause = [-1] * roles  # by role: the span that ended when the role last woke

    def wake(self, waiting: list[int], after: int, span: int) -> None:
        """Let every waiting role look again at what it waits for."""
        for role in waiting:
            self.cause[role] = span
            if role > after:
                heappush(self.now, role)
            else:
                self.later.append(role)
        waiting.clear()


class ChannelState:
    """Slots of one channel. `unread[s]`: readers yet to release slot s; `missing[s]`: bytes yet to arrive in it."""

    __slots__ = ("acquirers", "made", "missing", "need", "readers", "slots", "taken", "turns", "unread", "waiters")

    def __init__(self, slots: int, readers: int, slot_bytes: int, turns: Turns) -> None:
        self.slots = slots
        self.readers = readers
        self.need = slot_bytes or 1
        self.turns = turns
        self.made = 0
        self.taken = [0] * readers
        self.unread = [0] * slots
        self.missing = [0] * slots
        self.acquirers: list[int] = []
        self.waiters: list[int] = []

    def fill(self, tile: int, num_bytes: int, after: int, span: int) -> None:
        """Bytes arrive in a tile; roles that wait for a tile wake when it is full."""
        slot = tile % self.slots
        left = self.missing[slot] - num_bytes
        self.missing[slot] = left
        if not left and self.waiters:
            self.turns.wake(self.waiters, after, span)

    def free(self, tile: int, after: int, span: int) -> None:
        """One reader releases a tile; roles that wait for a slot wake when it was the last reader."""
        slot = tile % self.slots
        left = self.unread[slot] - 1
        self.unread[slot] = left
        if not left and self.acquirers:
            self.turns.wake(self.acquirers, after, span)


class BarrierState:
    """Arrivals. `untaken`: by role that awaits it, the arrivals that this role has not taken."""

    __slots__ = ("made", "turns", "untaken", "waiters")

    def __init__(self, turns: Turns) -> None:
        self.made = 0  # always: an arrival is not bound to a tile
        self.turns = turns
        self.untaken: dict[int, int] = {}
        self.waiters: list[int] = []

    def arrive(self, after: int, span: int) -> None:
        """One arrival: whoever awaits looks again."""
        for role in self.untaken:
            self.untaken[role] += 1
        if self.waiters:
            self.turns.wake(self.waiters, after, span)


class HandleState:
    """Starts of one handle by one role: `made` issued, `oldest` the first unfinished, `usable` those that are done."""

    __slots__ = ("made", "oldest", "turns", "usable", "waiting")

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.made = 0
        self.oldest = 0
        self.usable: set[int] = set()
        self.waiting: list[int] = []

    def issue(self) -> int:
        """Serial number of a new Start."""
        self.made += 1
        return self.made - 1

    def done(self, serial: int, span: int) -> None:
        """A Start is usable."""
        self.usable.add(serial)
        if self.waiting and serial == self.oldest:
            self.turns.wake(self.waiting, -1, span)


Anchor = ChannelState | BarrierState | HandleState


class Work:
    """A Run or Start of one role, compiled: `waited` is true for a Run. `applied` and `anchors` go with bound tiles."""

    __slots__ = ("anchors", "applied", "cycles", "index", "label", "latency", "role", "unit", "waited")

    def __init__(self, index: int, role: int, unit: UnitState, cycles: int, label: str) -> None:
        self.index = index
        self.role = role
        self.unit = unit
        self.cycles = cycles
        self.label = label
        self.latency = 0
        self.waited = True
        self.applied: tuple[Applied, ...] = ()
        self.anchors: tuple[Anchor, ...] = ()


class UnitState:
    """Free lanes, requests (a heap: at most one a role) and, by role, the line of its later ones."""

    __slots__ = ("asked", "ended", "free", "index", "lines", "queue", "touched")

    def __init__(self, index: int, lanes: int, roles: int) -> None:
        self.index = index
        self.free = lanes
        self.queue: list[Request] = []
        self.asked = [False] * roles
        self.lines: defaultdict[int, deque[tuple[Work, tuple[int, ...]]]] = defaultdict(deque)
        self.ended = -1  # span of the work that freed a lane last
        self.touched = False  # whether it is listed to take requests in this cycle


class Acquired:
    """Tiles of one channel that one role acquired and whose bytes are not all issued; `issued` of the oldest."""

    __slots__ = ("issued", "tiles")

    def __init__(self) -> None:
        self.tiles: deque[int] = deque()
        self.issued = 0


class RunState:
    """Everything a run changes. Lists without a remark are by role."""

    def __init__(self, program: Program) -> None:
        roles = len(program.roles)
        self.program = program
        self.turns = Turns(roles)
        self.units = [UnitState(index, unit.lanes, roles) for index, unit in enumerate(program.units)]
        self.channels = [ChannelState(c.slots, c.readers, c.slot_bytes, self.turns) for c in program.channels]
        self.barriers = [BarrierState(self.turns) for _ in program.barriers]
        self.unit_named = {unit.name: state for unit, state in zip(program.units, self.units, strict=True)}
        self.barrier_named = {one.name: state for one, state in zip(program.barriers, self.barriers, strict=True)}
        self.channel_index = {channel.name: index for index, channel in enumerate(program.channels)}
        self.slot_bytes = {channel.name: channel.slot_bytes for channel in program.channels}
        self.acquired: dict[tuple[int, int], Acquired] = {}  # by role and channel
        self.held: dict[tuple[int, int, int], deque[int]] = {}  # by role, channel and reader
        self.handles: dict[tuple[int, str], HandleState] = {}  # by role and name; only those that are finished
        self.works: list[Work] = []
        self.touched: list[UnitState] = []  # units that may take a request in this cycle
        self.events: list[Event] = []  # heap of everything in flight
        self.serial = count()  # orders what ends in one cycle
        self.left: list[int] = []  # by loop, over all roles: trips left, this one included; 0 outside the loop
        self.passes = [0] * roles  # loop boundaries passed
        self.laps = [0] * roles  # of these, those of loops that are in no other and hold others
        self.runner = -1  # the role whose laps ring the alarm
        self.alarm = NEVER  # the run looks for a period once it has executed so many steps
        self.pcs = [0] * roles
        self.alive = roles  # how many roles have not ended
        # Stall accounts: a role's time since `since` is of the sort `sort`, an index into `stalled`.
        self.sorts: list[tuple[int, str]] = []  # by sort: role and what it waits for
        self.stalled: list[int] = []  # by sort: cycles
        self.since = [0] * roles
        self.sort = [0] * roles

"""From a metapipe with its PCUs and buffers to a Program: one role for each stage and each stream, in order.

A role waits for its tiles, takes a slot for its own, works on its unit, frees and hands on: at the level where a link
is, so a tile that a whole inner pipe reads is waited for before it and freed after it. The last, smaller step of each
pipe is written out after the loop of full steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Counts,
    Fill,
    Finish,
    Loop,
    Op,
    Release,
    Run,
    Start,
    Wait,
)
from rdu_model.buffers import CARRY_SLOTS, Buffer, Group, load_bytes, read_bytes
from rdu_model.collective import all_reduce
from rdu_model.flow import Flow, Link
from rdu_model.machine import Machine, hbm_pace
from rdu_model.pipe import Carry, Load, Pipe, Placed, Stage, Store, placed, reads_of
from rdu_model.price import cycles, grid, issued_flops

HBM = "hbm"
ARRIVAL = "agcu"
NETWORK = "network"

Sizes = dict[str, int]


@dataclass(frozen=True)
class Section:
    """A metapipe that fits: its flow, its stages on PCUs, its buffers in PMUs.

    lacking_pmus: more of them would let some stages work as fast as their PCUs can.
    """

    flow: Flow
    groups: Mapping[str, Group]
    buffers: tuple[Buffer, ...]
    carried_pmus: int
    lacking_pmus: int
    machine: Machine
    members: int

    @property
    def pmus(self) -> int:
        """PMUs of all buffers."""
        return sum(buffer.pmus for buffer in self.buffers) + self.carried_pmus

    @property
    def pcus(self) -> int:
        """PCUs of all stages."""
        return sum(group.pcus for group in self.groups.values())


def emit(section: Section) -> Program:
    """The Program of a section, in cycles of its machine's clock."""
    flow = section.flow
    sizes = flow.metapipe.sizes
    roles = [Role(name, _Writer(section, found).script(0, sizes)) for name, found in flow.leaves.items()]
    channels = [Channel(b.link.name, b.slots, len(b.link.readers)) for b in section.buffers]
    for carry in flow.metapipe.carries:
        channels.append(Channel(carry.name, CARRY_SLOTS, len(carry.readers) + carry.stored))
        if carry.stored:
            roles.append(Role(f"store {carry.tensor}", _store_last(section, carry)))
    return Program(flow.metapipe.name, _units(section), tuple(channels), tuple(roles), _barriers(flow))


def _store_last(section: Section, carry: Carry) -> tuple[Op, ...]:
    """What every iteration hands on passes by; that of the last is stored."""
    reader = len(carry.readers)
    take, give = Wait(carry.name, reader), Release(carry.name, reader)
    metapipe = section.flow.metapipe
    moved = section.flow.asked[carry.source].touched(metapipe.graph.sizes)[1]
    store = Run(HBM, hbm_pace(section.machine).cycles_for(moved), f"store {carry.tensor}", _moved(moved))
    return (Loop(metapipe.iterations, (take, give), "iterations"), take, store, give)


def _units(section: Section) -> tuple[Unit, ...]:
    """HBM first: of units that limit equally, the waterfall names the first."""
    flow, machine = section.flow, section.machine
    units = [Unit(HBM, "memory")]
    if machine.hbm_latency_cycles:
        units.append(Unit(ARRIVAL, "memory"))
    for name, found in flow.leaves.items():
        if isinstance(found.leaf, Load) and _is_narrow(section, found.leaf):
            units.append(Unit(_stream_unit(found.leaf), "memory"))
        elif isinstance(found.leaf, Stage) and flow.asked[name].unit_class != "network":
            units.append(Unit(_stage_unit(flow, name), flow.asked[name].unit_class))
    if any(asked.unit_class == "network" for asked in flow.asked.values()):
        units.append(Unit(NETWORK, "network"))
    return tuple(units)


def _own_pace(section: Section, load: Load) -> int:
    """Bytes in a cycle that a stream's AGCUs and the ports of its PMUs let through."""
    machine = section.machine
    pmus = min((buffer.pmus for buffer in section.buffers if buffer.link.source == load.name), default=machine.pmus)
    ports = pmus * machine.pmu_bytes_per_cycle
    return min(ports, load.row_par * machine.agcu_bytes_per_cycle) if load.row_par else ports


def _is_narrow(section: Section, load: Load) -> bool:
    """Whether a stream's own path is slower than HBM."""
    pace = hbm_pace(section.machine)
    return _own_pace(section, load) * pace.cycles < pace.amount


def _stream_unit(load: Load) -> str:
    return f"agcu {load.name}"


def _stage_unit(flow: Flow, name: str) -> str:
    unit_class = flow.asked[name].unit_class
    if unit_class == "network":
        return NETWORK
    return f"{'pmu' if unit_class == 'memory' else 'pcu'} {name}"


def _barriers(flow: Flow) -> tuple[Barrier, ...]:
    pipes = {id(pipe): pipe for found in flow.leaves.values() for pipe in found.path if pipe.drain}
    return tuple(Barrier(_drained(pipe)) for pipe in pipes.values())


def _drained(pipe: Pipe) -> str:
    return f"drained {pipe.dim} {placed_names(pipe)[0]}"


def placed_names(pipe: Pipe) -> tuple[str, ...]:
    """Names of the leaves in a pipe."""
    return tuple(found.name for found in placed(pipe.body))


@dataclass(frozen=True)
class _Writer:
    """Writes the script of one role."""

    section: Section
    found: Placed

    def script(self, level: int, sizes: Sizes) -> tuple[Op, ...]:
        """What the role does from a level on, where the pipes above it have cut dims to `sizes`."""
        path = self.found.path
        inside = self._work(sizes) if level == len(path) else self._steps(path[level], level, sizes)
        return (*self._before(level), *inside, *self._after(level))

    def _steps(self, pipe: Pipe, level: int, sizes: Sizes) -> tuple[Op, ...]:
        full, rest = divmod(sizes[pipe.dim], pipe.extent)
        ops: list[Op] = []
        if full:
            body = self.script(level + 1, {**sizes, pipe.dim: pipe.extent})
            ops += body if full == 1 else (Loop(full, body, pipe.dim),)
        if rest:
            ops += self.script(level + 1, {**sizes, pipe.dim: rest})
        if pipe.drain:
            roles = [name for name in placed_names(pipe) if name in self.section.flow.leaves]
            ops += (Arrive(_drained(pipe)), Await(_drained(pipe), len(roles)))
        return tuple(ops)

    def _before(self, level: int) -> list[Op]:
        ops: list[Op] = [Wait(link.name, link.readers.index(self.found.name)) for link in self._read_at(level)]
        ops += [Wait(name, reader) for name, reader in self._carried_to(level)]
        ops += [Acquire(link.name) for link in self._made_at(level)]
        for carry in self._carries():
            if level == 0:
                ops += [Acquire(carry.name), Commit(carry.name)]
            elif level == 1:
                ops.append(Acquire(carry.name))
        return ops

    def _after(self, level: int) -> list[Op]:
        ops: list[Op] = [Release(link.name, link.readers.index(self.found.name)) for link in self._read_at(level)]
        ops += [Release(name, reader) for name, reader in self._carried_to(level)]
        arrives = level == len(self.found.path) and isinstance(self.found.leaf, Load) and self._latency()
        ops += [Commit(link.name) for link in self._made_at(level) if not arrives]
        if level == 1:
            ops += [Commit(carry.name) for carry in self._carries()]
        if level == 0:
            # The last iteration's result stays where it is: its readers let it go.
            for name, reader in self._carried_to(1):
                ops += [Wait(name, reader), Release(name, reader)]
        return ops

    def _read_at(self, level: int) -> list[Link]:
        links = (buffer.link for buffer in self.section.buffers)
        return [link for link in links if link.level == level and self.found.name in link.readers]

    def _made_at(self, level: int) -> list[Link]:
        links = (buffer.link for buffer in self.section.buffers)
        return [link for link in links if link.level == level and self.found.name == link.source]

    def _carries(self) -> list[Carry]:
        return [carry for carry in self.section.flow.metapipe.carries if carry.source == self.found.name]

    def _carried_to(self, level: int) -> list[tuple[str, int]]:
        carries = self.section.flow.metapipe.carries if level == 1 else ()
        name = self.found.name
        return [(carry.name, carry.readers.index(name)) for carry in carries if name in carry.readers]

    def _latency(self) -> int:
        return self.section.machine.hbm_latency_cycles

    def _work(self, sizes: Sizes) -> tuple[Op, ...]:
        return _WORK[type(self.found.leaf)](self, sizes)

    def load(self, sizes: Sizes) -> tuple[Op, ...]:
        """A stream in: HBM, then what is left of its own path, then the way to the PMUs."""
        flow, machine = self.section.flow, self.section.machine
        leaf = self.found.leaf
        assert isinstance(leaf, Load)
        moved = load_bytes(flow, leaf.name, sizes)
        held = hbm_pace(machine).cycles_for(moved)
        ops: list[Op] = [Run(HBM, held, leaf.name, _moved(moved))]
        if _is_narrow(self.section, leaf):
            alone = -(-moved // _own_pace(self.section, leaf))
            ops.append(Run(_stream_unit(leaf), max(0, alone - held), leaf.name))
        made = self._made_at(len(self.found.path))
        if self._latency() and made:
            arrivals = tuple(Fill(link.name) for link in made)
            ops.append(Start(ARRIVAL, 0, self._latency(), arrivals, label=leaf.name))
        return tuple(ops)

    def store(self, sizes: Sizes) -> tuple[Op, ...]:
        """A stream out."""
        leaf = self.found.leaf
        assert isinstance(leaf, Store)
        moved = self.section.flow.asked[leaf.source].touched(sizes)[1]
        return (Run(HBM, hbm_pace(self.section.machine).cycles_for(moved), leaf.name, _moved(moved)),)

    def stage(self, sizes: Sizes) -> tuple[Op, ...]:
        """A tile on the stage's units: as long as the slowest of its PCUs and its buffers' ports."""
        flow, machine, name = self.section.flow, self.section.machine, self.found.name
        asked, on = flow.asked[name], self.section.groups[name]
        demand = asked.demand(sizes)
        if asked.unit_class == "network":
            return self._exchange(demand.network_bytes)
        work = grid(asked, sizes, machine)
        reads = {source: read_bytes(flow, name, source, sizes, on) for source in _roots(flow, name)}
        written = asked.touched(sizes)[1]
        busy = max(cycles(work, on.pcus) if on.pcus else 0, self._port_cycles(reads, written)) + machine.step_cycles
        counts = (
            ("matrix_flops", issued_flops(asked, work, machine)),
            ("vector_ops", demand.vector_ops),
            ("special_ops", demand.special_ops),
            ("onchip_bytes", sum(reads.values()) + written),
        )
        return (Run(_stage_unit(flow, name), busy, name, _present(counts)),)

    def _exchange(self, payload: int) -> tuple[Op, ...]:
        done = all_reduce(payload, self.section.members, self.section.machine)
        counts = _present((("network_bytes", done.sent_bytes), ("onchip_bytes", 2 * payload)))
        handle = f"sum of {self.found.name}"
        start = Start(NETWORK, done.cycles, done.latency_cycles, (), handle, self.found.name, counts)
        return (start, Finish(handle))

    def _port_cycles(self, reads: Mapping[str, int], written: int) -> int:
        """Cycles that the PMUs of the operands and of the result need, whichever needs most."""
        port = self.section.machine.pmu_bytes_per_cycle
        slowest = 0
        for buffer in self.section.buffers:
            link, name = buffer.link, self.found.name
            moved = reads.get(link.source, 0) if name in link.readers else written if name == link.source else 0
            slowest = max(slowest, -(-moved // (buffer.pmus * port)))
        return slowest


_WORK = {Load: _Writer.load, Store: _Writer.store, Stage: _Writer.stage}


def _roots(flow: Flow, name: str) -> dict[str, None]:
    return dict.fromkeys(flow.roots[source] for source in reads_of(flow.leaves[name].leaf))


def _moved(num_bytes: int) -> Counts:
    return (("hbm_bytes", num_bytes), ("onchip_bytes", num_bytes))


def _present(counts: Counts) -> Counts:
    return tuple((name, amount) for name, amount in counts if amount)

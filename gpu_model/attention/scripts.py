"""Pieces of scripts that attention schedules have in common, and what they are predicted to take.

Keys and values of a step come through a ring each, so that the keys of the next step are there while the values of
this one are still needed. A Work whose loads take no time has its operands in place: then there are no rings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpu_model.fit import specialized, uniform
from gpu_model.machine import Machine
from gpu_model.occupancy.tmem import columns_of
from gpu_model.price import issue_cycles, transpose_cycles
from gpu_model.roles import assemble, drain, hand_over, loop, needed, ramp, rows_of
from gpu_model.work import Choice, CtaDemand, Use, Wave, Work
from patterns.once import computed_once
from patterns.pipeline.hashed import hashed_once
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Finish, Op, Release, Start, Wait, copy
from patterns.units import exact

QUERIES, KEYS, VALUES = "queries", "keys", "values"
RINGS = (KEYS, VALUES)
# Values as they arrive, where they are transposed before they are used; and that a tile's result has left their room.
LANDED, LEFT = "landed", "left"
SCORES, SUMS = "scores", "sums"
TOGETHER = "together"


@hashed_once
@dataclass(frozen=True)
class Block:
    """One step of one warpgroup: the product that makes scores, what is computed on them, the product that uses them.

    rows: which of the tile's blocks of rows are its own: first, last (not included), of how many.
    """

    scores: Use
    softmax: tuple[Use, ...]
    values: Use
    rows: tuple[int, int, int]

    @computed_once
    def softmax_cycles(self) -> int:
        """Cycles between the two products."""
        return sum(use.cycles for use in self.softmax)

    @computed_once
    def chain_cycles(self) -> int:
        """Cycles of all of it, one after another."""
        return self.scores.cycles + self.softmax_cycles + self.values.cycles


def block_of(step: Iterable[Use], row_blocks: int, part: int, parts: int) -> Block:
    """The step of warpgroup `part` of `parts`: its blocks of rows; with fewer blocks than warpgroups, padded ones."""
    first_row, last_row = rows_of(row_blocks, part, parts) if parts <= row_blocks else (part, part + 1)
    rows = (first_row, last_row, row_blocks)
    scores, *softmax, values = (use.between(*rows) for use in step)
    return Block(scores, tuple(softmax), values, rows)


def blocks_of(work: Work, choice: Choice, machine: Machine, overlaps: bool) -> tuple[Block, ...]:
    """The step of each warpgroup. overlaps: whether products run beside a softmax."""
    return _blocks(work.step, work.row_blocks, choice.warpgroups, machine if overlaps else None)


@lru_cache(maxsize=1024)
def _blocks(step: tuple[Use, ...], row_blocks: int, parts: int, stalled_on: Machine | None) -> tuple[Block, ...]:
    """Memo of `blocks_of`: all numbers of slots and steps, contexts and batches have few different blocks."""
    blocks = tuple(block_of(step, row_blocks, part, parts) for part in range(parts))
    return blocks if stalled_on is None else tuple(with_stalls(block, stalled_on) for block in blocks)


def with_stalls(block: Block, machine: Machine) -> Block:
    """The block as it runs beside the softmax of others: products lose cycles to instructions that use the registers.

    A vector instruction takes a cycle of its lanes, one of the special units as long to issue.
    """
    lanes = machine.vector_ops_per_cycle
    rate = {"special": Fraction(machine.special_ops_per_cycle, lanes), "vector": Fraction(1)}
    issued = sum((use.cycles * rate.get(use.unit, Fraction(0)) for use in block.softmax), Fraction(0))
    lost = ceil(issued * exact(machine.mma_port_stalls) / 2)
    return replace(block, scores=longer(block.scores, lost), values=longer(block.values, lost))


def reach_of(work: Work, blocks: Iterable[Block]) -> Fraction:
    """Share of the tensor core's rate that products reach: without what the blocks' products lose."""
    needed_cycles = sum(use.cycles for use in work.step if use.unit == "tc")
    return Fraction(needed_cycles, max(needed_cycles, tensor_cycles(blocks), 1))


def longer(use: Use, cycles: int) -> Use:
    """The use with more cycles, doing the same."""
    return replace(use, cycles=use.cycles + cycles)


def hidden(work: Work) -> bool:
    """Whether no load takes any time."""
    return all(wave.load.cycles == 0 for wave in work.waves)


def rings(work: Work, choice: Choice, readers: int) -> tuple[Channel, ...]:
    """A ring for keys and one for values, and room for the queries of one tile."""
    if hidden(work):
        return ()
    landed = (Channel(LANDED, choice.slots),) if work.transposed_bytes else ()
    return (Channel(QUERIES, 1, readers), *(Channel(name, choice.slots, readers) for name in RINGS), *landed)


def load_queries(work: Work, wave: Wave, machine: Machine, choice: Choice) -> tuple[Op, ...]:
    """Wait until the queries of the tile before are used up, and load those of the next."""
    if hidden(work) or wave.held is None:
        return ()
    held = wave.held
    issue = Use("issue", issue_cycles(machine, choice.loader, work.held_bytes), "issue")
    arriving = copy(held.unit, held.cycles, work.latency_cycles, QUERIES, label=held.label, counts=held.counts)
    return (Acquire(QUERIES), *needed(issue), arriving)


def load_into(ring: str, work: Work, wave: Wave, machine: Machine, choice: Choice, landing: str = "") -> tuple[Op, ...]:
    """Wait for a free slot, pay the issue cost, start the load of a step's keys or values: half of what it loads."""
    if hidden(work):
        return ()
    at = RINGS.index(ring)
    half = wave.load.between(at, at + 1, len(RINGS))
    issue = Use("issue", half_issue(work, choice, machine), "issue")
    arriving = copy(half.unit, half.cycles, work.latency_cycles, landing or ring, label=ring, counts=half.counts)
    return (Acquire(landing or ring), *needed(issue), arriving)


def transpose(work: Work, machine: Machine) -> tuple[Op, ...]:
    """Values that are there, written once more in the order that products read."""
    use = Use("smem", transpose_cycles(machine, work.transposed_bytes), "transpose")
    return (Wait(LANDED), *hand_over(machine), Acquire(VALUES), *needed(use), Commit(VALUES), Release(LANDED))


def half_issue(work: Work, choice: Choice, machine: Machine) -> int:
    """Cycles to issue the load of keys or values."""
    return issue_cycles(machine, choice.loader, work.slot_bytes // len(RINGS))


def begin_tile(part: int, work: Work, machine: Machine) -> tuple[Op, ...]:
    """What a warpgroup does before its first product of a tile."""
    queries = take(QUERIES, part, work, machine)
    return (*needed(Use("issue", machine.tile_start_cycles, "tile start")), *queries)


def make_room(work: Work) -> tuple[Op, ...]:
    """Tell who transposes that the result of the tile before has left shared memory: the first values may go there."""
    return (Arrive(LEFT),) if transposes(work) else ()


def transpose_alike(work: Work, parts: int, machine: Machine) -> tuple[Op, ...]:
    """A warpgroup's share of transposing the values of a step, where there is no producer that does it."""
    cycles = transpose_cycles(machine, work.transposed_bytes)
    return needed(Use("smem", -(-cycles // parts), "transpose"))


def transposes(work: Work) -> bool:
    """Whether values are transposed before they are used."""
    return bool(work.transposed_bytes) and not hidden(work)


def take(ring: str, part: int, work: Work, machine: Machine) -> tuple[Op, ...]:
    """Wait until keys or values of a step are there."""
    return () if hidden(work) else (Wait(ring, part), *hand_over(machine))


def give(ring: str, part: int, work: Work) -> tuple[Op, ...]:
    """Give a slot back."""
    return () if hidden(work) else (Release(ring, part),)


def start(use: Use, handle: str, machine: Machine) -> tuple[Op, ...]:
    """Issue a matrix product and go on."""
    return (Start(use.unit, use.cycles, machine.mma_latency_cycles, (), handle, use.label, use.counts),)


def multiply(use: Use, handle: str, machine: Machine) -> tuple[Op, ...]:
    """A matrix product whose end is waited for."""
    return (*start(use, handle, machine), Finish(handle))


def end(work: Work, wave: Wave, block: Block) -> tuple[Op, ...]:
    """What a warpgroup does with its rows of a tile after the last step."""
    first, last, of = block.rows
    return needed(*(use.between(first, last, of) for use in (*work.finish, wave.store)))


def tensor_cycles(blocks: Iterable[Block]) -> int:
    """Cycles of the tensor core for one step of all warpgroups."""
    return sum(block.scores.cycles + block.values.cycles for block in blocks)


def meet(parts: int, machine: Machine) -> tuple[Op, ...]:
    """All computing warpgroups wait for each other."""
    if parts == 1:
        return ()
    return (Arrive(TOGETHER), Await(TOGETHER, parts), *pass_on(machine))


def pass_on(machine: Machine) -> tuple[Op, ...]:
    """What a warpgroup pays once it has seen others arrive at a named barrier."""
    return needed(Use("sync", machine.turn_cycles, "barrier"))


def turn(part: int) -> str:
    """The barrier at which a warpgroup waits for its turn."""
    return f"turn{part}"


def barriers(names: Iterable[str]) -> tuple[Barrier, ...]:
    """Barriers of these names."""
    return tuple(Barrier(name) for name in names)


def producer(work: Work, choice: Choice, machine: Machine) -> tuple[Role, ...]:
    """A warp that loads all keys and values, tile after tile; none where nothing is loaded."""
    if hidden(work):
        return ()
    script: tuple[Op, ...] = ramp(machine)
    for wave in work.waves:
        tile = load_queries(work, wave, machine, choice) + _load_steps(work, wave, machine, choice)
        script += loop(wave.tiles, tile, "tiles")
    return (Role("producer", script),)


def _load_steps(work: Work, wave: Wave, machine: Machine, choice: Choice) -> tuple[Op, ...]:
    """The keys and values of a tile. Who transposes values loads the next ones after that (FlashAttention-3, fp8)."""
    keys, steps = load_into(KEYS, work, wave, machine, choice), work.steps_of(wave)
    if not transposes(work):
        return loop(steps, keys + load_into(VALUES, work, wave, machine, choice), "loads")
    loads = keys + load_into(VALUES, work, wave, machine, choice, LANDED)
    turned = transpose(work, machine)
    return (*loads, Await(LEFT, choice.warpgroups), *turned, *loop(steps - 1, loads + turned, "loads"))


def program_of(
    work: Work,
    choice: Choice,
    machine: Machine,
    scripts: Iterable[tuple[Op, ...]],
    names: Iterable[str] = (),
    loads: bool = True,
) -> Program:
    """A producer, if loads are its business, and the computing warpgroups. names: of barriers."""
    scripts = tuple(scripts)
    roles = producer(work, choice, machine) if loads else ()
    begin = () if roles else ramp(machine)
    roles += tuple(
        Role(f"warpgroup{part}" if len(scripts) > 1 else "warpgroup", begin + script + drain(machine))
        for part, script in enumerate(scripts)
    )
    channels = rings(work, choice, len(scripts))
    names = (*names, LEFT) if loads and transposes(work) else names
    return assemble(work.name, machine, channels, roles, barriers(names))


def demand_of(work: Work, choice: Choice, machine: Machine, operands: bool = False) -> CtaDemand:
    """A producer warpgroup and computing ones. operands: whether scores are computed while those before are used."""
    return with_sums(specialized(work, choice, machine, in_registers(work, machine, operands)), work, machine)


def uniform_of(work: Work, choice: Choice, machine: Machine, operands: bool = False) -> CtaDemand:
    """Warpgroups that all load and compute. operands: whether scores are computed while those before are used."""
    return with_sums(uniform(work, choice, machine, in_registers(work, machine, operands)), work, machine)


def in_registers(work: Work, machine: Machine, operands: bool) -> int:
    """Values that computing warps keep in registers: with tensor memory neither sums nor probabilities."""
    if machine.tmem_columns:
        return work.score_values
    return work.accumulators + (work.operand_registers if operands else 0)


def with_sums(demand: CtaDemand, work: Work, machine: Machine) -> CtaDemand:
    """The demand with scores and sums in tensor memory, where there is some; probabilities take scores' place."""
    return replace(demand, tmem_columns=columns_of(work)) if machine.tmem_columns else demand


@lru_cache(maxsize=256)
def two_or_more(most: int) -> tuple[int, ...]:
    """Slots of each ring to try."""
    return tuple(n for n in (2, 3, 4, 6) if n <= most) or (2,)

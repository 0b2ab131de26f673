"""The steps of a product's tiles shared out among SMs, and the kernel that adds up what each SM has of a tile.

The SM with a tile's first steps finishes it: the others write their sums to a workspace in the L2, it adds them to its
own and stores the tile. Nothing is launched for that, and no tile is stored twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpu_model.machine import Machine
from gpu_model.ring_paths import Ring
from gpu_model.roles import (
    RING,
    assemble,
    compute_step,
    computing_cycles,
    drain,
    end_tile,
    hand_over,
    load_step,
    loading_cycles,
    loop,
    needed,
    ramp,
)
from gpu_model.work import Choice, Grid, Use, Work
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Arrive, Await, Finish, Op, Start

HERE, THERE, TAKEN = "done", "partials", "taken"
# What becomes of a piece's sums: written for another SM, stored as a whole tile, or stored with what others have.
Ending = Literal["partial", "whole", "gathered"]


@dataclass(frozen=True)
class Piece:
    """`count` times, `steps` steps of one tile; peers: other SMs that have steps of it."""

    count: int
    steps: int
    ending: Ending
    peers: int = 0


@dataclass(frozen=True)
class Share:
    """The pieces of one SM in order. late: whether the peers of its last tile end when it does, not before."""

    pieces: tuple[Piece, ...]
    late: bool = False

    @property
    def steps(self) -> int:
        """Steps of the SM."""
        return sum(piece.count * piece.steps for piece in self.pieces)


def even_share(grid: Grid, steps: int, sms: int) -> Share:
    """Stream-K: all steps one after another, cut into as many equal ranges as there are SMs, whatever tile they are of.

    The share of the second SM, which has an end and a beginning of a tile, as most do; that of the first one, which has
    a beginning, where the second has none, or where there is less than a tile for each.
    """
    each = -(-grid.tiles * steps // sms)
    if each < steps:
        return Share((Piece(1, each, "gathered", -(-steps // each) - 1),), late=True)
    tail = -each % steps
    whole, head = divmod(each - tail, steps)
    if not head:
        tail, (whole, head) = 0, divmod(each, steps)
    pieces = (Piece(1, tail, "partial"), Piece(whole, steps, "whole"), Piece(1, head, "gathered", 1))
    return Share(tuple(piece for piece in pieces if piece.count and piece.steps))


def split_share(grid: Grid, steps: int, splits: int, sms: int) -> Share:
    """Split-K: every tile in `splits` equal parts, as tiles of their own; of an SM whose last one finishes a tile."""
    parts = max(1, min(splits, steps))
    longest = -(-steps // parts)
    parts = -(-steps // longest)
    rounds = -(-grid.tiles * parts // sms)
    if parts == 1:
        return Share((Piece(rounds, steps, "whole"),))
    pieces = (Piece(rounds - 1, longest, "partial"), Piece(1, longest, "gathered", parts - 1))
    return Share(tuple(piece for piece in pieces if piece.count), late=True)


def even_partials(grid: Grid, steps: int, sms: int) -> int:
    """Borders between the ranges of stream-K that lie inside a tile."""
    all_steps = grid.tiles * steps
    each = -(-all_steps // sms)
    return sum(border % steps != 0 for border in range(each, all_steps, each))


def split_partials(grid: Grid, steps: int, splits: int) -> int:
    """Parts of all tiles but those that finish them."""
    longest = -(-steps // max(1, min(splits, steps)))
    return grid.tiles * (-(-steps // longest) - 1)


def filling_splits(grid: Grid, steps: int, sms: int) -> int:
    """Parts of every tile that give as many SMs as possible one part each."""
    return max(1, min(steps, sms // grid.tiles))


def share_program(work: Work, grid: Grid, share: Share, choice: Choice, machine: Machine) -> Program:
    """A producer that streams all steps; a consumer that ends every piece as it is due; and the last tile's peers."""
    wave = grid.wave
    loads = loop(share.steps, load_step(work, wave, machine, choice), "loads")
    consumer: tuple[Op, ...] = ()
    for piece in share.pieces:
        steps = loop(piece.steps, compute_step(work, machine), "steps")
        consumer += loop(piece.count, steps + _ending(work, grid, share, piece, machine), piece.ending)
    roles = [Role("producer", ramp(machine) + loads), Role("consumer", consumer + drain(machine))]
    if share.late and share.pieces[-1].peers:
        written = Use("peers", grid.partial.cycles, grid.partial.label)
        roles.append(Role("peers", (Await(HERE), *needed(written), Arrive(THERE))))
    barriers = (Barrier(HERE), Barrier(THERE)) if len(roles) == 3 else ()
    return assemble(work.name, machine, (Channel(RING, choice.slots),), tuple(roles), barriers)


def _ending(work: Work, grid: Grid, share: Share, piece: Piece, machine: Machine) -> tuple[Op, ...]:
    if piece.ending == "partial":
        return needed(grid.partial)
    if piece.ending == "whole":
        return end_tile(work, grid.wave)
    # Peers have equally many steps where they are late: their sums are written once this SM has its own.
    wait = (Arrive(HERE), Await(THERE), *hand_over(machine)) if share.late else ()
    taken = grid.taken
    take = Start(taken.unit, taken.cycles, work.latency_cycles, (), TAKEN, taken.label, taken.counts)
    gather = loop(piece.peers, (take,), "peers") + loop(piece.peers, (Finish(TAKEN), *needed(grid.added)), "peers")
    return wait + gather + end_tile(work, grid.wave)


def share_cycles(work: Work, grid: Grid, share: Share, choice: Choice, machine: Machine) -> int:
    """Piece after piece, or load after load."""
    issue, step = loading_cycles(work, choice, machine), computing_cycles(work.step, machine)
    wave = grid.wave
    ring = Ring(replace(work, waves=(wave,)), choice.slots, issue, step, step, (work.end_cycles(wave),))
    pieces = 0
    for piece in share.pieces:
        main = replace(ring, work=replace(ring.work, steps=piece.steps)).main_cycles(wave)
        pieces += piece.count * (main + _ending_cycles(work, grid, share, piece, machine))
    last = _ending_cycles(work, grid, share, share.pieces[-1], machine)
    streamed = share.steps * max(issue, wave.load.cycles) - wave.load.cycles + step + last
    fill = machine.kernel_ramp_cycles + ring.fill_cycles
    return fill + max(pieces, streamed) + machine.kernel_drain_cycles


def _ending_cycles(work: Work, grid: Grid, share: Share, piece: Piece, machine: Machine) -> int:
    if piece.ending == "partial":
        return grid.partial.cycles
    wait = grid.partial.cycles + machine.barrier_cycles if share.late and piece.peers else 0
    slower, faster = max(grid.taken.cycles, grid.added.cycles), min(grid.taken.cycles, grid.added.cycles)
    gather = work.latency_cycles + piece.peers * slower + faster if piece.peers else 0
    return wait + gather + work.end_cycles(grid.wave)

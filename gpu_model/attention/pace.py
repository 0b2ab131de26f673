"""What attention schedules are predicted to take, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gpu_model.attention.scripts import Block, half_issue, transposes
from gpu_model.machine import Machine
from gpu_model.price import transpose_cycles
from gpu_model.work import Choice, Work
from patterns.pipeline.hashed import made_directly


@made_directly
@dataclass(frozen=True)
class Pace:
    """What one step of one warpgroup takes if nothing keeps it waiting, and a tile's beginning and end besides.

    ahead: whether a tile's first loads come while the tile before is computed. starts: whether beginning a tile takes
    time that no other CTA of the SM fills.
    """

    step_cycles: int
    edge_cycles: int
    ahead: bool = True
    starts: bool = True


def predicted(work: Work, choice: Choice, machine: Machine, blocks: tuple[Block, ...], pace: Pace) -> int:
    """Steps as long as the busiest of units, loads and warpgroups take; before and after them what a tile does once."""
    issue = half_issue(work, choice, machine) + machine.barrier_cycles
    busiest, is_turned = busiest_cycles(blocks), transposes(work)
    turn = turned(work, machine)
    total = machine.kernel_ramp_cycles + machine.kernel_drain_cycles
    starting = machine.tile_start_cycles if pace.starts else 0
    for wave in work.waves:
        steps, load = work.steps_of(wave), wave.load.cycles
        held_up = wave.stored_on_loads_cycles // steps
        round_trip = issue + load + work.latency_cycles + pace.step_cycles if load else 0
        returns = round_trip // choice.slots if steps > choice.slots else 0
        fed = max(load + held_up, 2 * issue if load else 0, returns)
        ends = work.end_cycles(wave)
        turning = 2 * issue + load + work.latency_cycles + turn if is_turned else 0
        computing = steps * max(pace.step_cycles, busiest) + starting + pace.edge_cycles + ends
        # Queries come when those before are used up, beside the end of the tile before.
        arriving = wave.held.cycles + work.latency_cycles if wave.held else 0
        beside = blocks[-1].softmax_cycles + blocks[-1].values.cycles + ends + starting
        if pace.ahead:
            # A producer fills the rings while warpgroups begin and end tiles.
            begun = starting + turn
            late = max(0, turning - blocks[0].scores.cycles - blocks[0].softmax_cycles) if turning else 0
            by_turns = begun + (steps - 1) * turning + blocks[-1].values.cycles + ends if turning else 0
            tile = max(computing + late, by_turns, steps * fed + (wave.held.cycles if wave.held else 0))
            total += wave.tiles * tile + (wave.tiles - 1) * max(0, arriving - beside)
        else:
            total += wave.tiles * (max(computing, steps * fed + pace.edge_cycles + ends) + arriving + load // 2)
    first = work.waves[0]
    arriving = work.latency_cycles + first.load.cycles // 2 + (first.held.cycles if first.held else 0)
    begin = max(0, arriving - starting) if first.load.cycles and pace.ahead else 0
    return total + begin + (0 if pace.starts else machine.tile_start_cycles)


def least_predicted(work: Work, machine: Machine) -> int:
    """Cycles that `predicted` gives at least, whatever the schedule: all loads, or all products, one after another."""
    products = sum([use.cycles for use in work.step if use.unit == "tc"])
    total = machine.kernel_ramp_cycles + machine.kernel_drain_cycles
    for wave in work.waves:
        steps = work.steps_of(wave)
        stored = wave.stored_on_loads_cycles // steps
        loads = steps * (wave.load.cycles + stored) + (wave.held.cycles if wave.held else 0)
        total += wave.tiles * max(loads, steps * products)
    load = work.waves[0].load.cycles
    return total + (max(0, work.latency_cycles + load // 2 - machine.tile_start_cycles) if load else 0)


def least_by_turns(work: Work, machine: Machine) -> int:
    """The same for schedules that load only as they compute (not `ahead`): every tile waits for its first step."""
    products = sum([use.cycles for use in work.step if use.unit == "tc"])
    total = machine.kernel_ramp_cycles + machine.kernel_drain_cycles
    for wave in work.waves:
        steps, load = work.steps_of(wave), wave.load.cycles
        loads = steps * (load + wave.stored_on_loads_cycles // steps)
        arriving = wave.held.cycles + work.latency_cycles if wave.held else 0
        total += wave.tiles * (max(loads, steps * products) + work.end_cycles(wave) + arriving + load // 2)
    return total


def turned(work: Work, machine: Machine) -> int:
    """What transposing a step's values takes, and seeing them."""
    return transpose_cycles(machine, work.transposed_bytes) + machine.barrier_cycles


@lru_cache(maxsize=1024)
def busiest_cycles(blocks: tuple[Block, ...]) -> int:
    """Cycles of the busiest unit for one step of all warpgroups."""
    busy: dict[str, int] = {}
    for block in blocks:
        for use in (block.scores, *block.softmax, block.values):
            busy[use.unit] = busy.get(use.unit, 0) + use.cycles
    return max(busy.values())

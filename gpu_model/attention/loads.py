"""What the loads of an attention kernel take at least, in integers: before any Work is made of its tiles."""

from __future__ import annotations

from gpu_model.machine import Machine
from gpu_model.tiles.cuts import Cut


def least_loading(cut: Cut, read_bytes: int, machine: Machine) -> int:
    """Cycles of the busiest SM if all its loads come one after another, as under any schedule (see pace.py).

    read_bytes: of the HBM, at least. It alone counts, since where it limits loads and stores, loads wait for nothing
    else.
    """
    step_bytes, held_bytes, steps = cut.step_bytes, cut.held_bytes, cut.steps_per_tile
    full, rest = divmod(cut.tiles, machine.sm_count)
    # Of all that SMs load, the HBM reads so much, at this rate.
    reading = read_bytes * machine.clock_hz
    of = cut.loaded_bytes * machine.hbm_achieved_bytes_per_s
    cycles, first = machine.kernel_ramp_cycles + machine.kernel_drain_cycles, 0
    for tiles, active in ((full, machine.sm_count), (1 if rest else 0, rest)):
        load = -(-step_bytes * reading * active // of)
        cycles += tiles * (steps * load - -load * held_bytes // step_bytes)
        first = first or (load if tiles else 0)
    return cycles + max(0, machine.load_latency_cycles + first // 2 - machine.tile_start_cycles)

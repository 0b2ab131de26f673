"""Work of an SM drawn at random, to hold predictions in closed form against simulations."""

from __future__ import annotations

import random
from dataclasses import replace

from gpu_model.machine import Machine
from gpu_model.schedule import Schedule, cluster_sizes, dma_warp_counts
from gpu_model.work import Choice, Use, Wave, Work
from patterns.pipeline.simulate import simulate

KIB = 1024


def random_work(rng: random.Random) -> Work:
    """One or two waves of tiles: long and short steps, long and short ends, paths apart or shared."""
    slot_bytes = rng.choice([16, 24, 32, 48]) * KIB
    load, paths = rng.choice([100, 400, 800, 1500]), rng.choice([("load", "store")] * 4 + [("hbm", "hbm")])

    def wave(tiles: int, load_cycles: int) -> Wave:
        return Wave(tiles, Use(paths[0], load_cycles, "load"), Use(paths[1], rng.choice([64, 500, 1500]), "store"))

    waves = (wave(rng.choice([1, 2, 5]), load), *((wave(1, load * 7 // 10),) if rng.random() < 0.4 else ()))
    return Work(
        name="random",
        waves=waves,
        steps=rng.choice([1, 2, 7, 32, 64]),
        slot_bytes=slot_bytes,
        step=(Use("tc", rng.choice([128, 256, 512, 1024]), "mma"),),
        finish=(Use("vector", rng.choice([64, 256]), "convert"),),
        latency_cycles=rng.choice([300, 752, 1500]),
        accumulators=128 * rng.choice([64, 128, 256, 512]),
        shared_bytes=rng.choice([slot_bytes // 2, slot_bytes * 2 // 3]),
        row_blocks=2,
        sharing_tiles=4,
    )


def random_choice(rng: random.Random, schedule: Schedule) -> Choice:
    """Slots, loader, cluster and DMA warps that the schedule can have."""
    return Choice(
        slots=rng.choice(schedule.slot_counts(rng.choice([1, 2, 3, 4, 6, 8]))),
        loader=rng.choice(schedule.LOADERS),
        cluster=rng.choice(cluster_sizes(schedule)),
        dma_warps=rng.choice(dma_warp_counts(schedule)),
    )


def prediction_errors(schedule: Schedule, machine: Machine, runs: int, seed: int = 1) -> list[float]:
    """Relative errors of predictions against simulations, by size; issue and barrier costs are drawn too."""
    rng = random.Random(seed)
    errors = []
    for _ in range(runs):
        costs = {"barrier_cycles": rng.choice([0, 20, 60]), "cp_async_issue_cycles": rng.choice([0, 100, 800])}
        drawn = replace(machine, **costs)
        work, choice = random_work(rng), random_choice(rng, schedule)
        simulated = simulate(schedule.program(work, choice, drawn)).total_cycles
        errors.append(abs(schedule.predict(work, choice, drawn) / simulated - 1))
    return sorted(errors)

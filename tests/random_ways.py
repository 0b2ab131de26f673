"""Ways to run a graph, every one or drawn at random: machine, policy, schedule, launch and options, also odd ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import ModuleType
from typing import Any

import gpu_model
import rdu_model
from gpu_model.schedule import AUTO, runs
from patterns.graph import Graph
from patterns.plan import Plan

MODELS: Mapping[str, ModuleType] = {"gpu": gpu_model, "rdu": rdu_model}
MACHINES = [(family, machine) for family, model in MODELS.items() for machine in model.machine_names()]


@dataclass(frozen=True)
class Way:
    """One way to run a graph on a machine with some of its values replaced."""

    family: str
    machine: str
    options: Mapping[str, Any]
    overrides: Mapping[str, str]

    def lower(self, graph: Graph) -> Plan:
        """Raises UserError."""
        model: Any = MODELS[self.family]
        plan: Plan = model.lower(graph, model.load_machine(self.machine, self.overrides), **self.options)
        return plan


def fusions(family: str, machine: str) -> list[Way]:
    """The ways of a machine, from the one that fuses least."""
    if family == "gpu":
        return [Way(family, machine, {"policy": name}, {}) for name in gpu_model.policy_names()]
    return [Way(family, machine, {"mode": name}, {}) for name in rdu_model.mode_names()]


TINY: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gpu": {
        "smem_bytes_per_cta": ("64 B", "200 B", "2 KiB", "9 kB", "50 kB"),
        "sm_count": ("1", "2", "7"),
        "l2_bytes": ("1 B", "100 B", "3 kB"),
        "most_registers_per_thread": ("24", "40", "64"),
        "threads_per_cta": ("128", "256", "512"),
        "load_latency_cycles": ("0 cycles", "1 cycles", "700 cycles"),
        "hbm_bytes": ("10 B", "1 GiB", "1 GiB"),
        "fit": ("refuse", "warn"),
    },
    "rdu": {
        "pcus": ("1", "2", "3", "9"),
        "pmus": ("1", "4", "20", "60"),
        "pmu_bytes": ("1 B", "64 B", "4 KiB"),
        "prefetch_bytes": ("0 B", "5 kB"),
        "usable_share": ("0.1", "0.5"),
        "agcus": ("1", "3"),
        "agcu_streams": ("1", "4"),
        "mesh_flows": ("1", "2"),
        "hbm_latency_cycles": ("0 cycles", "1 cycles", "170 cycles"),
        "agcu_bytes_per_cycle": ("1 B/cycle", "64 B/cycle"),
        "hbm_bytes": ("10 B", "1 GiB", "1 GiB"),
    },
}
ASKED: Mapping[str, tuple[int | str, ...]] = {
    "slots": (1, 2, 3, 7),
    "loader": ("tma", "cp_async"),
    "warpgroups": (1, 2, 3),
    "tile_m": (1, 5, 64),
    "tile_n": (1, 8, 100),
    "tile_k": (1, 3, 64),
    "splits": (1, 2, 9),
    "cluster": (1, 2, 4),
    "dma_warps": (1, 4),
    "layout": ("plain", "padded", "swizzled"),
    "ctas": (1, 2),
    "l2_keep": ("input", "weight,state"),
}
# The share of options that is fixed.
FIXED = 0.1


def usable_schedules(machine: str) -> tuple[str, ...]:
    """Those that a machine has the features for, and `auto`."""
    known = gpu_model.load_machine(machine)
    return tuple(name for name in gpu_model.schedule_names() if name == AUTO or runs(name, known))


def odd_way(random: Random, family: str, machine: str) -> Way:
    """Any policy, schedule and options, on a machine that has little of something."""
    few = TINY[family]
    overrides = {name: random.choice(few[name]) for name in random.sample(sorted(few), random.randint(0, 4))}
    if family == "rdu":
        options: dict[str, Any] = {"mode": random.choice(rdu_model.mode_names())}
        return Way(family, machine, options | {"orchestration": random.choice(["hardware", "software"])}, overrides)
    options = {
        "policy": random.choice(gpu_model.policy_names()),
        "schedule": random.choice([AUTO, random.choice(usable_schedules(machine))]),
        "launch": random.choice(gpu_model.launch_names()),
        "options": {name: random.choice(ASKED[name]) for name in ASKED if random.random() < FIXED},
    }
    return Way(family, machine, options, overrides)

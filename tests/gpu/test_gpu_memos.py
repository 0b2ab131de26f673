"""Memos across points change nothing: a point is the same alone in a new process and after any other points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from gpu_model import load_machine, lower
from patterns.errors import UserError
from patterns.library import workload
from patterns.plan import Plan
from patterns.report import Report
from patterns.run import run_plan
from patterns.summarize import summarize
from tests.memos import forget

Pairs = tuple[tuple[str, Any], ...]
Outcome = tuple[Plan, Report, int] | str

# What a point may differ in from the one it is drawn from; each changes some number of it.
PARAMETERS = (
    ("hbm_bytes_per_s", "2 TB/s"),
    ("l2_bytes", "2 MiB"),
    ("load_latency_cycles", "900 cycles"),
    ("sm_count", "100"),
    ("kernel_ramp_cycles", "3000 cycles"),
    ("special_ops_per_cycle", "2 ops/cycle"),
    ("mma_port_stalls", "0.9"),
    ("launch_gap_ps", "90000 ns"),
)
CHOICES: dict[str, tuple[Any, ...]] = {
    "policy": ("pattern", "operator", "library", "epilogue", "megakernel"),
    "launch": ("graph", "pdl"),
    "schedule": ("warp_specialized", "attention_serial"),
    "options": ({"slots": 2}, {"splits": 3}, {"l2_keep": "input"}, {"tile_k": 64}),
}


@dataclass(frozen=True)
class Drawn:
    """A point: a workload with its extents, a machine with its parameters, and what is asked of it."""

    name: str
    extents: tuple[tuple[str, int], ...]
    machine: str = "h100_sxm"
    parameters: tuple[tuple[str, str], ...] = ()
    asked: Pairs = ()


FIRST = (
    Drawn("gqa_decode", (("batch", 8), ("context", 4096))),
    Drawn("gqa_decode", (("batch", 1), ("context", 4096)), asked=(("policy", "auto"),)),
    Drawn("softmax", (("rows", 512), ("columns", 4096)), "b200"),
    Drawn("softmax", (("rows", 513), ("columns", 4096)), asked=(("options", {"l2_keep": "input"}),)),
    Drawn("softmax", (("rows", 513), ("columns", 4096))),
    Drawn("attention", (("context", 1024),)),
    Drawn("swiglu_mlp", (), "a100_sxm"),
    Drawn("llama", (("batch", 2), ("context", 300))),
)


def neighbours(first: Drawn, random: Random) -> list[Drawn]:
    """Points that differ from one in an extent, in parameters of its machine, and in something that is asked."""
    size = [(name, extent + random.randint(1, 99)) for name, extent in first.extents[-1:]]
    parameters = [replace(first, parameters=(one,)) for one in random.sample(PARAMETERS, 2)]
    name = random.choice(list(CHOICES))
    asked = replace(first, asked=tuple({**dict(first.asked), name: random.choice(CHOICES[name])}.items()))
    return [first, replace(first, extents=(*first.extents[:-1], *size)), *parameters, asked]


def outcome(point: Drawn) -> Outcome:
    """All that a run gives, with spans and without, or why there is none."""
    graph = workload(point.name, overrides=dict(point.extents))
    try:
        plan = lower(graph, load_machine(point.machine, dict(point.parameters)), **dict(point.asked))
        return plan, summarize(run_plan(plan)), run_plan(plan, spans=False).schedule.total_cycles
    except UserError as error:
        return str(error)


def test_points_are_the_same_after_any_others() -> None:
    random = Random(17)
    points = [point for first in FIRST for point in neighbours(first, random)]
    alone = []
    for point in points:
        forget()
        alone.append((point, outcome(point)))
    assert sum(isinstance(result, str) for _, result in alone) <= len(points) // 8
    forget()
    for seed in (1, 2):
        Random(seed).shuffle(alone)
        for point, result in alone:
            assert outcome(point) == result, point

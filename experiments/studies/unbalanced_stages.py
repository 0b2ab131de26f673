"""What the slowest stage of a metapipeline costs, and what giving it more units gives back.

A gated MLP in tiles of tokens: gate and up products, SiLU, multiply, down product. Weights are loaded once and stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from patterns.pipeline.timeline import Timeline
    from rdu_model.machine import Machine
    from rdu_model.pipe import Metapipe

MACHINE = "sn40l"
TOKENS, TILE, WIDTH, HIDDEN = 8192, 128, 1024, 4096
STAGES = ("gate", "up", "silu", "product", "down")
PRODUCTS = ("gate", "up", "down")
ELEMENT_BYTES = 2


@dataclass(frozen=True)
class Allocation:
    """PCUs by stage; those not named are the compiler's choice."""

    name: str
    pcus: tuple[tuple[str, int], ...] = field(default=())


def same(count: int) -> tuple[tuple[str, int], ...]:
    """As many for each stage."""
    return tuple((stage, count) for stage in STAGES)


CASES = (
    Allocation("8 each", same(8)),
    Allocation("64 each", same(64)),
    Allocation("64 each, 128 for down", (*same(64)[:-1], ("down", 128))),
    Allocation("64 each, 128 for all products", tuple((s, 128 if s in PRODUCTS else 64) for s in STAGES)),
    Allocation("187 each: all units", same(187)),
    Allocation("8 each, 256 for all products", tuple((s, 256 if s in PRODUCTS else 8) for s in STAGES)),
    Allocation("by work, as the compiler does"),
)
ALL_SAME, BY_WORK = CASES[4].name, CASES[-1].name


def record(case: Allocation) -> Record:
    """The stages' cycles for a tile, the whole, and what the closed form says of it."""
    from patterns.pipeline.simulate import simulate
    from rdu_model import closed_forms, load_machine
    from rdu_model.compilation import compile_metapipe
    from rdu_model.emit import emit

    machine = load_machine(MACHINE)
    (compiled,) = compile_metapipe(written(case), machine).sections
    timeline = simulate(emit(compiled.section))
    cycles, steps = stage_cycles(timeline), -(-TOKENS // TILE)
    longest = max(cycles, key=lambda stage: cycles[stage])
    given = {stage: compiled.section.groups[stage].pcus for stage in STAGES}
    return {
        "pcus_given": case.name,
        **{f"{stage}_pcus": given[stage] for stage in STAGES},
        **{f"{stage}_cycles": cycles[stage] for stage in STAGES},
        "slowest": longest,
        "steps": steps,
        "cycles": timeline.total_cycles,
        "closed_form_cycles": weight_cycles(machine) + closed_forms.metapipe(tuple(cycles.values()), steps),
        "one_after_another_cycles": closed_forms.sequential(tuple(cycles.values()), steps),
        "pcus": sum(given.values()),
        "busy_percent": 100
        * sum(given[stage] * cycles[stage] for stage in STAGES)
        * steps
        / (machine.pcus * timeline.total_cycles),
    }


def written(case: Allocation) -> Metapipe:
    """The MLP with these PCUs."""
    from rdu_model import Metapipeline

    pcus = dict(case.pcus)
    p = Metapipeline("mlp")
    x, y = p.input_region("x", "t d", (TOKENS, WIDTH)), p.output_region("y", "t o", (TOKENS, WIDTH))
    shapes = {"gate": ("d h", (WIDTH, HIDDEN)), "up": ("d h", (WIDTH, HIDDEN)), "down": ("h o", (HIDDEN, WIDTH))}
    tiles = {
        name: p.load_tile(p.weight_region(f"w_{name}", dims, shape), shape, row_par=None)
        for name, (dims, shape) in shapes.items()
    }
    with p.metapipe(-(-TOKENS // TILE)):
        tile = p.load_tile(x, (TILE, WIDTH), row_par=None)
        gate, up = (p.mat_mul(tile, tiles[s], name=s, pcus=pcus.get(s, 0)) for s in ("gate", "up"))
        silu = p.map("silu", gate, name="silu", pcus=pcus.get("silu", 0))
        product = p.zip("mul", silu, up, name="product", pcus=pcus.get("product", 0))
        p.store_tile(y, p.mat_mul(product, tiles["down"], name="down", pcus=pcus.get("down", 0)))
    return p.build()


def weight_cycles(machine: Machine) -> int:
    """Cycles in which HBM gives all weights, before the first tile is through."""
    weight_bytes = len(PRODUCTS) * WIDTH * HIDDEN * ELEMENT_BYTES
    return round(weight_bytes * machine.clock_hz / (machine.hbm_bytes_per_s * machine.hbm_efficiency))


def stage_cycles(timeline: Timeline) -> Mapping[str, int]:
    """Longest that each stage holds its PCUs for a tile."""
    return {
        stage: max(span.end - span.start for span in timeline.spans if span.unit == f"pcu {stage}") for stage in STAGES
    }


def finding(rows: Sequence[Record]) -> str:
    """What the slowest stage costs with equal units, and what units by work give back."""
    named = {row["pcus_given"]: row for row in rows}
    alike, by_work = (named[name] for name in (ALL_SAME, BY_WORK))
    return (
        f"With as many PCUs for each stage ({alike['pcus']} in all) {alike['slowest']} takes {slowest(alike):,} cycles"
        f" a tile and the fastest stage {fastest(alike):,}; PCUs are at work {alike['busy_percent']:.0f} % of the time."
        f" Given by work, {by_work['pcus']} PCUs are {alike['cycles'] / by_work['cycles']:.2f} times as fast and at"
        f" work {by_work['busy_percent']:.0f} % of the time."
    )


def details(rows: Sequence[Record]) -> str:
    """What more units bring to one stage of several, and how near the closed form is."""
    worst = max(abs(row["closed_form_cycles"] / row["cycles"] - 1) for row in rows)
    return f"{doubled(rows)} The closed form is within {100 * worst:.1f} %."


def slowest(row: Record) -> int:
    """Cycles of the slowest stage."""
    return max(int(row[f"{stage}_cycles"]) for stage in STAGES)


def fastest(row: Record) -> int:
    """Cycles of the fastest stage."""
    return min(int(row[f"{stage}_cycles"]) for stage in STAGES)


def doubled(rows: Sequence[Record]) -> str:
    """What twice the units gain for one stage of several that are as slow, and for all of these."""
    start, one, all_of_them = rows[1:4]
    gains = [start["cycles"] / row["cycles"] for row in (one, all_of_them)]
    return (
        f"Twice the PCUs for down alone make {start['pcus_given']} {gains[0]:.2f} times as fast, for all three"
        f" products {gains[1]:.2f} times: the slowest stage that is left sets the pace."
    )


STUDY = Survey(
    question="What does the slowest stage of a metapipeline cost, and what do more units for it give back?",
    cases=CASES,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "cycles_of_stages",
            label="pcus_given",
            values=tuple(f"{stage}_cycles" for stage in STAGES),
            title="Cycles of each stage for a tile of tokens",
            log=True,
        ),
        Bars(
            "cycles_in_all",
            label="pcus_given",
            values=("cycles",),
            marks="closed_form_cycles",
            title="Cycles of all tiles; crosses: the closed form",
            log=True,
        ),
    ),
)

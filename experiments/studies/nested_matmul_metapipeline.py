"""A lecture's nested matmul metapipeline: streamed and drained, by streams and PCUs, closed form beside simulation.

METAPIPE(M / 256) { load A; METAPIPE(N / 64) { load B; MAT_MUL; BUFFER; STORE } }: Stanford CS149, fall 2025,
lecture 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from experiments.plot.lines import Lines
from experiments.survey import Record, Survey
from patterns.plural import number_of

if TYPE_CHECKING:
    from rdu_model.machine import Machine
    from rdu_model.pipe import Metapipe

MACHINE = "sn40l"
# The lecture's tiles, and the streams that its B tiles come through.
MM, NN, ROW_PAR = 256, 64, 4
ELEMENT_BYTES = 2
LOAD_A = "load A"
STREAMED, DRAINED = "streams on", "drains"


@dataclass(frozen=True)
class Matmul:
    """outer, inner: steps of the pipes. pcus: of the product. a_streams, b_streams: row_par of the loads.

    b_slots: of the buffer of B, None for the two that neighbours have.
    """

    outer: int
    inner: int
    pipe: str
    pcus: int = 64
    a_streams: int = 16
    b_streams: int = ROW_PAR
    b_slots: int | None = None
    depth: int = 4096


LECTURE = Matmul(16, 64, STREAMED, pcus=4, a_streams=1)
ONE_STREAM = Matmul(16, 64, STREAMED, b_streams=1)
EVEN, EVEN_DEEP = Matmul(16, 64, STREAMED, pcus=128), Matmul(16, 64, STREAMED, pcus=128, b_slots=3)
SWEPT = tuple(Matmul(16, inner, pipe) for inner in (2, 4, 8, 16, 32, 64) for pipe in (STREAMED, DRAINED))
CASES = (*SWEPT, ONE_STREAM, EVEN, EVEN_DEEP, LECTURE)


def record(case: Matmul) -> Record:
    """Cycles simulated and by the closed form; of the sweep over inner steps also what one of them takes."""
    from rdu_model import load_machine, simulate_metapipe

    machine = load_machine(MACHINE)
    timeline = simulate_metapipe(written(case), machine, spans=False)
    times = stage_cycles(case, machine)
    per_step = {name: took / (case.inner if name == LOAD_A else 1) for name, took in times.items()}
    slowest = max(per_step, key=lambda name: per_step[name])
    steps, form = case.outer * case.inner, closed_form(case, times)
    return {
        "pipe": case.pipe,
        "inner_steps": case.inner,
        "pcus": case.pcus,
        "streams_a": case.a_streams,
        "streams_b": case.b_streams,
        "slots_b": case.b_slots or 2,
        "slowest_stage": slowest,
        "slowest_cycles": per_step[slowest],
        "cycles": timeline.total_cycles,
        "closed_form_cycles": form,
        "cycles_per_step": timeline.total_cycles / steps if case in SWEPT else None,
        "closed_form_per_step": form / steps if case in SWEPT else None,
        "pcus_busy_percent": 100 * timeline.busy_cycles["pcu mat_mul"] / timeline.total_cycles,
    }


def written(case: Matmul) -> Metapipe:
    """The lecture's program."""
    from rdu_model import Metapipeline

    rows, columns = MM * case.outer, NN * case.inner
    p = Metapipeline("matmul")
    a = p.input_region("A", "m k", (rows, case.depth))
    b = p.input_region("B", "k n", (case.depth, columns))
    c = p.output_region("C", "m n", (rows, columns))
    with p.metapipe(case.outer):
        a_tile = p.load_tile(a, (MM, case.depth), row_par=case.a_streams)
        with p.metapipe(case.inner, drain=case.pipe == DRAINED):
            b_tile = p.buffer(p.load_tile(b, (case.depth, NN), row_par=case.b_streams), depth=case.b_slots)
            c_tile = p.buffer(p.mat_mul(a_tile, b_tile, pcus=case.pcus))
            p.store_tile(c, c_tile)
    return p.build()


def stage_cycles(case: Matmul, machine: Machine) -> Mapping[str, int]:
    """Cycles of each stage for one of its tiles, from rates alone: nothing waits for anything. A comes once a row."""
    from rdu_model import closed_forms

    hbm_bytes_per_cycle = machine.hbm_bytes_per_s * machine.hbm_efficiency / machine.clock_hz

    def moved(elements: int, streams: int) -> int:
        rate = min(float(hbm_bytes_per_cycle), float(streams * machine.agcu_bytes_per_cycle))
        return round(elements * ELEMENT_BYTES / rate)

    block = closed_forms.gemm_cycles(machine.pcu_lanes, machine.pcu_stages, case.depth, *array(machine))
    blocks = closed_forms.gemm_cycles(MM, NN, 1, *array(machine))
    return {
        LOAD_A: moved(MM * case.depth, case.a_streams),
        "load B": moved(case.depth * NN, case.b_streams),
        "product": -(-blocks // case.pcus) * block // machine.packed_macs + machine.step_cycles,
        "store C": moved(MM * NN, machine.agcus),
    }


def array(machine: Machine) -> tuple[int, int]:
    """Rows and columns of a PCU's systolic array: PCUs share a product in blocks of them."""
    return machine.pcu_lanes, machine.pcu_stages


def closed_form(case: Matmul, times: Mapping[str, int]) -> int:
    """Pipes in pipes that drain, or one pipe that is filled once and then goes at the slowest stage's pace."""
    from rdu_model import closed_forms
    from rdu_model.closed_forms import Draining

    load_a, *inside = times.values()
    if case.pipe == DRAINED:
        return closed_forms.draining(Draining(case.outer, (load_a, Draining(case.inner, tuple(inside)))))
    pace = max(case.inner * max(inside), load_a)
    return load_a + sum(inside) + (case.inner - 1) * max(inside) + (case.outer - 1) * pace


def finding(rows: Sequence[Record]) -> str:
    """What draining costs by the length of the inner pipe, and how near the closed forms are.

    The rows are those of CASES, in order.
    """
    by_case = dict(zip(CASES, rows, strict=False))
    costs = {
        case.inner: 100 * (by_case[replace(case, pipe=DRAINED)]["cycles"] / by_case[case]["cycles"] - 1)
        for case in SWEPT
        if case.pipe == STREAMED and replace(case, pipe=DRAINED) in by_case
    }
    most, longest = max(costs, key=lambda inner: costs[inner]), max(costs)
    swept = [row for case, row in by_case.items() if case in SWEPT]
    return (
        f"Ending every inner pipe before the outer one goes on costs most with {number_of(most, 'inner step')}"
        f" ({costs[most]:.0f} %) and {costs[longest]:.1f} % with {longest}. The closed forms, from rates alone, are"
        f" within {furthest(swept):.1f} % of the simulation where one stage is clearly the slowest."
    )


def furthest(rows: Sequence[Record]) -> float:
    """Greatest error of the closed form, in percent."""
    errors: list[float] = [abs(row["closed_form_cycles"] / row["cycles"] - 1) for row in rows]
    return 100 * max(errors)


def details(records: Sequence[Record]) -> str:
    """What the lecture's row_par is for, what its few PCUs do, and where two slots are too few; '' if not run."""
    rows = dict(zip(CASES, records, strict=False))
    if not {ONE_STREAM, EVEN, EVEN_DEEP, LECTURE} <= set(rows):
        return ""
    one, even, deep, lecture = (rows[case] for case in (ONE_STREAM, EVEN, EVEN_DEEP, LECTURE))
    usual = rows[replace(ONE_STREAM, b_streams=ROW_PAR)]
    return (
        f"B through one stream instead of {ROW_PAR} makes {one['slowest_stage']} the slowest stage and the whole"
        f" {one['cycles'] / usual['cycles']:.2f} times as long. Where a load of B and the product take as long as each"
        f" other, two slots are {furthest([even]):.1f} % slower than the form, because a tile is also on its way;"
        f" {deep['slots_b']} slots are {furthest([deep]):.1f} % from it. With the {lecture['pcus']} PCUs of the"
        f" lecture's picture the product takes {lecture['slowest_cycles'] / usual['slowest_cycles']:.0f} times as long"
        f" as with {usual['pcus']}, and keeps its PCUs busy {lecture['pcus_busy_percent']:.1f} % of the time."
    )


STUDY = Survey(
    question="What does a nested metapipeline of a matrix product take, streamed and drained, beside closed forms?",
    cases=CASES,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Lines(
            "cycles_per_step",
            x="inner_steps",
            y="cycles_per_step",
            by="pipe",
            bound="closed_form_per_step",
            title="A step of the inner pipe: simulated, and by the closed form (dashed)",
            x_log=True,
        ),
    ),
    keys=6,
)

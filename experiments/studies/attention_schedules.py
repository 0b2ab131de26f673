"""FlashAttention-3's four schedules: on the lecture's SM, on an H100, and as the paper measured them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.plot.bars import Bars
from experiments.plot.spans import Run, Spans
from experiments.survey import Record, Survey

SERIAL, TURNS, INSIDE, BOTH = "serial", "pingpong", "intra_warpgroup", "both"
NAMES = {SERIAL: "serial", TURNS: "ping-pong", INSIDE: "inside a warpgroup", BOTH: "both overlaps"}
# The paper's table 2, and the runs of its text: batch and tokens.
TABLE, TEXT = "table 2", "section 3.1"
SETTINGS = {TABLE: (4, 8448), TEXT: (2, 8192)}
HEADS, HEAD_DIM = 16, 128


@dataclass(frozen=True)
class Overlap:
    """What a kernel overlaps, at the sizes of a table of the paper (FlashAttention-3, arXiv 2407.08608)."""

    overlap: str
    place: str
    tokens: int
    batch: int
    heads: int = HEADS
    head_dim: int = HEAD_DIM


def cases() -> Iterator[Overlap]:
    """fp16 without a mask: each schedule at both sizes."""
    for place, (batch, tokens) in SETTINGS.items():
        for overlap in NAMES:
            yield Overlap(overlap, place, tokens, batch)


def record(case: Overlap) -> Record:
    """The tensor core's share on the lecture's SM and of an H100's peak, and what the paper measured, if anything."""
    from experiments.validation.flash_attention import FIXED_CLOCK, GPU, attention_tflops
    from gpu_model import load_machine
    from gpu_model.lecture.attention import attention_run

    machine = load_machine(GPU, dict(FIXED_CLOCK))
    sizes = case.batch, case.tokens, case.heads, case.head_dim
    found = attention_tflops(*sizes, False, "fp16", f"attention_{case.overlap}", machine)
    figure = measured(case)
    return {
        "overlap": NAMES[case.overlap],
        "sizes_of": case.place,
        "tokens": case.tokens,
        "lecture_percent": attention_run(f"attention_H100_{case.overlap}").tensor_core_percent,
        "h100_tflops_per_s": found,
        "h100_percent": 100 * found * 1e12 / peak(),
        "published_tflops_per_s": figure[0] if figure else None,
        "published_percent": 100 * figure[0] * 1e12 / peak() if figure else None,
        "source": figure[1] if figure else None,
    }


def peak() -> float:
    """FLOP/s of an H100's tensor cores."""
    from experiments.validation.flash_attention import FIXED_CLOCK, GPU
    from gpu_model import load_machine

    machine = load_machine(GPU, dict(FIXED_CLOCK))
    return float(machine.bf16_flops_per_cycle * machine.sm_count * machine.clock_hz)


def measured(case: Overlap) -> tuple[float, str] | None:
    """What the paper reports of this overlap at these sizes, with the source."""
    from experiments.validation.published import published

    for figure in published("attention_ablation"):
        if (figure.text("overlap"), figure.count("tokens")) == (case.overlap, case.tokens):
            return figure.value("tflops_per_s"), figure.source
    return None


def finding(rows: Sequence[Record]) -> str:
    """What both overlaps bring on paper, in the model of a whole GPU, and measured."""
    at = {(row["overlap"], row["sizes_of"]): row for row in rows}
    none, both = at[NAMES[SERIAL], TABLE], at[NAMES[BOTH], TABLE]
    off = [abs(row["h100_tflops_per_s"] / row["published_tflops_per_s"] - 1) for row in rows if row["source"]]
    return (
        f"On the lecture's SM both overlaps keep the tensor core busy {both['lecture_percent']:.1f} % of the time,"
        f" beside {none['lecture_percent']:.1f} % without; on an H100 they reach {both['h100_percent']:.0f} % of the"
        f" peak in the model and {both['published_percent']:.0f} % measured. The model is within {100 * max(off):.0f} %"
        f" of all {len(off)} published runs."
    )


def details(rows: Sequence[Record]) -> str:
    """What each overlap brings, and why the whole GPU is slower than the lecture's SM."""
    at = {(row["overlap"], row["sizes_of"]): row for row in rows}
    lecture = {name: at[name, TABLE]["lecture_percent"] for name in NAMES.values()}
    steps = ", ".join(f"{share:.1f} % ({name})" for name, share in lecture.items())
    return (
        f"On the lecture's SM the tensor core is busy {steps} of the time: there loads,"
        f" meetings and issuing beside products cost nothing. {_order(rows)}"
    )


def _order(rows: Sequence[Record]) -> str:
    """Which overlap brings what: where the model's order is the paper's, and where not."""
    at = {(row["overlap"], row["sizes_of"]): row for row in rows}
    told, column = [], "{}_tflops_per_s"
    for place, better, worse in ((TABLE, BOTH, TURNS), (TABLE, BOTH, INSIDE), (TEXT, TURNS, SERIAL)):
        pair = [at[NAMES[one], place] for one in (better, worse)]
        ratios = (pair[0][column.format(of)] / pair[1][column.format(of)] for of in ("h100", "published"))
        model, paper = (ratio - 1 for ratio in ratios)
        told.append(f"{NAMES[better]} over {NAMES[worse]} {100 * model:+.0f} % (published {100 * paper:+.0f} %)")
    return f"What each brings on an H100: {'; '.join(told)}."


def runs() -> list[Run]:
    """The four schedules on the lecture's SM."""
    from gpu_model.lecture.attention import attention_run

    found = {name: attention_run(f"attention_H100_{overlap}") for overlap, name in NAMES.items()}
    return [(name, run.program, run.timeline, None) for name, run in found.items()]


STUDY = Survey(
    question="What do FlashAttention-3's two overlaps bring: on a simple SM, on an H100, and measured?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "share_of_peak",
            label="overlap",
            values=("lecture_percent", "h100_percent"),
            panel="sizes_of",
            marks="published_percent",
            title="Tensor core: busy on the lecture's SM, of the peak on an H100; cross: FlashAttention-3's paper",
            x_label="Share [%]",
        ),
        Spans("blocks", runs, title="The first 6,000 cycles on the lecture's SM", until=6000),
    ),
    keys=2,
)

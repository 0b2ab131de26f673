"""A matrix product whose depth is shared by 8 and 16 sockets, its reduce-scatter overlapped or not, as published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from patterns.report import Report

# Published of "the RDU", whose peak by these times is SN50's: Stanford CS149, fall 2025, lecture 12, slide 41, as told
# in a guide to its slides. By sockets: ms of the product at 100 % of the peak, of the reduce-scatter at 100 % of the
# links, percent of the peak if they do not overlap, and measured where they do.
PUBLISHED = {8: (66.3, 8.6, 88.5, 72.0), 16: (33.1, 9.7, 77.0, 75.0)}
MACHINE = "sn50"
ROWS, DEPTH, COLUMNS, BATCH = 24576, 131072, 8192, 16
# An all-reduce is a reduce-scatter and as much again: over twice the bandwidth it takes a reduce-scatter's time.
TWICE = ("link_bytes_per_s", "node_link_bytes_per_s")
PRODUCT = """
name: shared_product
extents: {{m: {rows}, n: {columns}, k: {depth}, group: {sockets}}}
tensors:
  a: {{dims: [m, k], dtype: bf16, role: input}}
  b: {{dims: [k, n], dtype: bf16, role: weight}}
  y: {{dims: [m, n], dtype: bf16, role: output}}
nodes:
  p: {{kind: mm, reads: [a, b]}}
  y: {{kind: all_reduce, reads: [p], along: group}}
"""


def record(case: Mapping[str, int]) -> Record:
    """A number of sockets: at peak rates, as simulated in percent of the peak, and as published."""
    from rdu_model import load_machine
    from rdu_model.collective import reduce_scatter

    sockets, machine = case["sockets"], load_machine(MACHINE)
    at_peak_ms = 2e3 * BATCH * ROWS * COLUMNS * DEPTH / sockets / machine.peak_flops_per_s
    scatter = reduce_scatter(BATCH * ROWS * COLUMNS * 2, sockets, machine)
    overlapped, apart = (1e3 * simulated(sockets, how).time_s for how in ("overlapped", "separate"))
    product_ms, scatter_ms, apart_percent, measured_percent = PUBLISHED[sockets]
    return {
        "sockets": sockets,
        "product_at_peak_ms": at_peak_ms,
        "published_product_ms": product_ms,
        "scatter_ms": 1e3 * scatter.cycles / machine.clock_hz,
        "published_scatter_ms": scatter_ms,
        "overlapped_percent": 100 * at_peak_ms / overlapped,
        "measured_percent": measured_percent,
        "apart_percent": 100 * at_peak_ms / apart,
        "at_peaks_apart_percent": 100 * at_peak_ms / (at_peak_ms + 1e3 * scatter.cycles / machine.clock_hz),
        "published_apart_percent": apart_percent,
    }


def simulated(sockets: int, collectives: str) -> Report:
    """The product and its sum on so many sockets, all of the batch in one."""
    from patterns.read import parse_graph
    from patterns.run import run_plan
    from patterns.summarize import summarize
    from rdu_model import load_machine, lower

    links = load_machine(MACHINE)
    machine = load_machine(MACHINE, {name: f"{2 * getattr(links, name)} B/s" for name in TWICE})
    text = PRODUCT.format(rows=BATCH * ROWS, columns=COLUMNS, depth=DEPTH // sockets, sockets=sockets)
    plan = lower(parse_graph(text), machine, mode="fused", members=sockets, collectives=collectives)
    return summarize(run_plan(plan))


def finding(rows: Sequence[Record]) -> str:
    """What overlapping is worth, beside what was measured."""
    told = [
        f"on {row['sockets']} sockets {row['overlapped_percent']:.0f} % of the peak where the reduce-scatter overlaps"
        f" (measured: {row['measured_percent']:.0f} %) and {row['apart_percent']:.0f} % where it comes after"
        for row in rows
    ]
    return f"A product of {ROWS:,} x {DEPTH:,} x {COLUMNS:,}, batch {BATCH}, reaches {', '.join(told)}."


def details(rows: Sequence[Record]) -> str:
    """Where what is missing to the peak is lost."""
    longest = max(row["scatter_ms"] / row["product_at_peak_ms"] for row in rows)
    return (
        f"The links are busy for at most {100 * longest:.0f} % of the product's time at the peak: overlapped, they cost"
        " nothing, and the rest is lost on the PCUs."
    )


STUDY = Survey(
    question="How much of the peak does a product reach whose depth is shared by sockets, and what is overlap worth?",
    cases=tuple({"sockets": sockets} for sockets in PUBLISHED),
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "share_of_peak",
            label="sockets",
            values=("overlapped_percent", "measured_percent", "apart_percent", "published_apart_percent"),
            title="Share of the peak, by the number of sockets that share the depth",
            x_label="% of the peak",
        ),
    ),
)

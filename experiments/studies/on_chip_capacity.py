"""What of a decoder layer fits on an RDU's chip, what must be cut into more calls, and what then passes through HBM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.survey import Record, Survey
from patterns.plural import number_of

if TYPE_CHECKING:
    from patterns.graph import Graph
    from rdu_model.section import Section

MODEL, MACHINE, BLOCK = "llama-3.1-8b", "sn40l", "decoder"
# Batches of a decode step over a cache of so many tokens, and prompts of so many.
DECODES = ((1, 4096), (1, 65536), (16, 4096), (64, 1024), (256, 256))
PROMPTS = (128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Load:
    """A step of the model with a call for each decoder, if it fits."""

    phase: str
    batch: int
    context: int


def cases() -> list[Load]:
    """Every decode step and every prompt."""
    return [
        *(Load("decode", batch, context) for batch, context in DECODES),
        *(Load("prefill", 1, tokens) for tokens in PROMPTS),
    ]


def record(case: Load) -> Record:
    """One layer's bytes, the calls that it is cut into, the PMUs of the largest, and what crosses the cuts."""
    from patterns.library import workload
    from patterns.run import run_plan
    from patterns.summarize import summarize
    from rdu_model import load_machine
    from rdu_model.compilation import Choices, compile_graph
    from rdu_model.lowering import plan_of

    machine = load_machine(MACHINE)
    graph = workload(MODEL, case.phase, batch=case.batch, context=case.context)
    compiled = compile_graph(graph, machine, Choices("fused"), 1)
    of_layer = [one.section for one in compiled.sections if one.block.name == BLOCK]
    largest = max(of_layer, key=pmus)
    plan = plan_of(compiled, graph, machine, 1, "fused", "hardware")
    report = summarize(run_plan(plan))
    crossed = sum(row.num_bytes for row in plan.moved if "between calls" in row.reason)
    return {
        "step": f"{case.phase}, batch {case.batch}, {case.context:,} tokens",
        "weights_mb": layer_bytes(graph, "weight") / 1e6,
        "state_mb": layer_bytes(graph, "state") / 1e6,
        "intermediates_mb": layer_bytes(graph, "intermediate") / 1e6,
        "sram_mb": machine.pmus * machine.pmu_bytes / 1e6,
        "calls_a_layer": len(of_layer),
        "pmus": pmus(largest),
        "pmus_of": machine.pmus,
        "buffers_mb": buffer_bytes(largest) / 1e6,
        "pmus_lacking": max(section.lacking_pmus for section in of_layer),
        "between_calls_gb": crossed / 1e9,
        "time_ms": 1e3 * report.time_s,
        "bound_ms": 1e3 * report.bound_s,
    }


def layer_bytes(graph: Graph, role: str) -> int:
    """Bytes of all tensors of a role that one layer has."""
    from patterns.count import tensor_bytes

    made = {node.writes for node in graph.block_named[BLOCK].nodes}
    read = {name for node in graph.block_named[BLOCK].nodes for name in node.reads}
    names = made if role == "intermediate" else read
    return sum(
        tensor_bytes(graph, name)
        for name in names
        if graph.tensor_named[name].role == role and not graph.tensor_named[name].shares
    )


def pmus(section: Section) -> int:
    """PMUs of all its buffers."""
    return sum(buffer.pmus for buffer in section.buffers)


def buffer_bytes(section: Section) -> int:
    """Bytes that its buffers hold."""
    return sum(buffer.slots * buffer.slot_bytes for buffer in section.buffers)


def finding(rows: Sequence[Record]) -> str:
    """In how many steps a layer is one call, and what its weights need of the chip."""
    whole, first = sum(row["calls_a_layer"] == 1 for row in rows), rows[0]
    most = max(row["calls_a_layer"] for row in rows)
    cut = f", and cut into {most} calls at most in the others" if most > 1 else ""
    return (
        f"A decoder layer of {MODEL} is one call on a {MACHINE} in {whole} of {len(rows)} steps{cut}. Its weights are"
        f" {first['weights_mb']:.0f} MB and the SRAM holds {first['sram_mb']:.0f} MB, but weights stream through: in"
        f" {first['step']}, buffers hold {first['buffers_mb']:.1f} MB."
    )


def details(rows: Sequence[Record]) -> str:
    """Up to which intermediates a layer is one call, what is moved beyond, and what that costs."""
    whole = [row for row in rows if row["calls_a_layer"] == 1]
    cut = [row for row in rows if row["calls_a_layer"] > 1]
    first = rows[0]
    told = (
        f"The buffers of the fused decoder have {100 * first['pmus'] / first['pmus_of']:.0f} % of the PMUs in"
        f" {first['step']}."
    )
    if whole:
        most = max(whole, key=lambda row: row["intermediates_mb"])
        told += (
            f" A layer is one call in {len(whole)} of {len(rows)} steps, up to {most['intermediates_mb']:,.0f} MB of"
            f" intermediates ({most['step']})."
        )
    if cut:
        worst = max(cut, key=lambda row: row["between_calls_gb"])
        told += (
            f" In {'; '.join(row['step'] for row in cut)} it is cut, and"
            f" {worst['between_calls_gb']:.1f} GB pass through HBM between calls of {worst['step']}."
        )
    return told + dear(rows)


def dear(rows: Sequence[Record]) -> str:
    """Where a longer prompt in more calls takes less time than a shorter one in one: fitting costs more than a cut."""
    found = [
        f" Yet {one['step']} takes {one['time_ms']:.1f} ms in {number_of(one['calls_a_layer'], 'call')} a layer,"
        f" {two['step']} {two['time_ms']:.1f} ms in {two['calls_a_layer']}: to fit costs more than to be cut."
        for one, two in pairwise(rows)
        if two["calls_a_layer"] > one["calls_a_layer"] and two["time_ms"] < one["time_ms"]
    ]
    return "".join(found)


STUDY = Survey(
    question="What of a decoder layer fits on an RDU's chip, and what is cut and moved where it does not?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "bytes_of_a_layer",
            label="step",
            values=("weights_mb", "state_mb", "intermediates_mb", "buffers_mb"),
            bound="sram_mb",
            title="Bytes of a decoder layer, and of the buffers that its largest call has; the line is the SRAM",
            log=True,
        ),
        Bars(
            "calls_of_a_layer", label="step", values=("calls_a_layer",), title="Calls that a decoder layer is cut into"
        ),
        Bars(
            "between_calls",
            label="step",
            values=("between_calls_gb",),
            title="What passes between calls through HBM, over all layers",
        ),
    ),
)

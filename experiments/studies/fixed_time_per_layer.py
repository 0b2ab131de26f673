"""What a decoder layer costs beside its bytes, on an RDU and on a GPU, with tensor parallelism."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.plot.bars import Bars
from experiments.point import Point, run_if_it_fits
from experiments.survey import Record, Survey

MODELS = ("llama-3.2-1b", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b")
MEMBERS = (1, 4, 8, 16)
# Each side as measurements of it were: all layers in one call, and tuned kernels behind a serving engine's host.
WAYS = (("sn40l", "looped"), ("h100_sxm", "library"))
CONTEXT = 1024
# From published times at batch 1 (argonne-lcf/LLM-Inference-Bench@4211f5d): of 8 sockets as one fit with the HBM's rate
# over 8B and 70B, of GPUs with TensorRT-LLM by 90 % of the HBM's rate inside kernels.
PUBLISHED_US = {
    ("sn40l", "llama-3.1-8b", 8): 10.7,
    ("sn40l", "llama-3.1-70b", 8): 10.7,
    ("h100_sxm", "llama-3.1-8b", 1): 69.4,
    ("h100_sxm", "llama-3.1-8b", 4): 96.4,
    ("h100_sxm", "llama-3.1-70b", 4): 96.2,
}


def cases() -> list[Point]:
    """Every machine, model and number of members: a decode step, started as serving engines do."""
    return [
        Point(model, machine, mode, context=CONTEXT, members=members, launch="serving")
        for machine, mode in WAYS
        for model in MODELS
        for members in MEMBERS
    ]


def record(point: Point) -> Record | None:
    """One decode step: its time, what its bytes take of it, what is left for each layer; None if HBM has no room."""
    outcome = run_if_it_fits(point)
    if outcome is None or dict(outcome.report.bytes).get("ddr"):
        return None
    rate = outcome.execution.plan.rates.achievable_by_resource["hbm_bytes"]
    bytes_ms = 1e3 * dict(outcome.report.bytes)["hbm"] / point.members / rate
    token_ms = 1e3 * outcome.report.time_s
    layers = outcome.execution.plan.graph.sizes["layers"]
    return {
        "machine": point.machine,
        "model": point.workload,
        "members": point.members,
        "layers": layers,
        "calls": outcome.report.calls,
        "token_ms": token_ms,
        "bytes_ms": bytes_ms,
        "layer_us": 1e3 * (token_ms - bytes_ms) / layers,
        "published_layer_us": PUBLISHED_US.get((point.machine, point.workload, point.members)),
    }


def finding(rows: Sequence[Record]) -> str:
    """The range of the time beside the bytes on both sides, and of what is published."""
    told = []
    for machine, _ in WAYS:
        own = [row for row in rows if row["machine"] == machine]
        known = [row["published_layer_us"] for row in own if row["published_layer_us"] is not None]
        said = f" (published {' to '.join(dict.fromkeys((f'{min(known)}', f'{max(known)}')))})" if known else ""
        times = [row["layer_us"] for row in own]
        if times:
            told.append(f"{min(times):.1f} to {max(times):.1f} us on {machine}{said}")
    most = max(row["members"] for row in rows)
    return f"Beside the time of its bytes a decoder layer takes {' and '.join(told)}, on 1 to {most} of them."


def details(rows: Sequence[Record]) -> str:
    """How the time beside the bytes grows with members on both sides, and what is published."""
    parts = []
    for machine, _ in WAYS:
        spans = []
        for members in MEMBERS:
            times = [r["layer_us"] for r in rows if (r["machine"], r["members"]) == (machine, members)]
            if times:
                spans.append(f"{min(times):.1f} to {max(times):.1f} us on {members}")
        parts.append(f"on {machine} {', '.join(spans)}")
    known = [
        f"{r['model']} on {r['members']} x {r['machine']} {r['published_layer_us']} us (here {r['layer_us']:.1f})"
        for r in rows
        if r["published_layer_us"] is not None
    ]
    return f"By the number of members: {'; '.join(parts)}. From published times follow: {'; '.join(known)}."


STUDY = Survey(
    question="What does a decoder layer cost beside its bytes, and how does that grow with tensor parallelism?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "time_per_layer",
            "model",
            ("layer_us",),
            by="members",
            panel="machine",
            marks="published_layer_us",
            title="A decoder layer beside the time of its bytes",
            x_label="us a layer beside its bytes",
        ),
    ),
    keys=3,
)

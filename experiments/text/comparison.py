"""A comparison as text: calls and time, bytes by level, where the time goes, and by what rule calls are counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.export import LEVELS
from experiments.text.energy import energy_parts
from experiments.text.error_bands import error_band_parts
from experiments.text.launching import NOTE, launching_table
from experiments.text.page import Part
from experiments.text.parts import parts_tables
from experiments.text.quantity import bytes_text, digits, ratio_text, time_text
from experiments.text.rules import counting_rules
from experiments.text.shared import shared_lines
from experiments.text.table import Column, Table
from patterns.report import PICOSECONDS

if TYPE_CHECKING:
    from experiments.compare import Comparison, Outcome
    from experiments.request import Request
    from patterns.graph import Graph
    from patterns.report import CallCount, Report

LEVEL_TITLES = {"hbm": "HBM", "l2": "L2", "onchip": "on-chip", "ddr": "DDR", "network": "network"}
RESOURCE_TITLES = {
    "matrix_flops": "matrix",
    "vector_ops": "vector",
    "special_ops": "special",
    "hbm_bytes": "HBM",
    "l2_bytes": "L2",
    "ddr_bytes": "DDR",
    "network_bytes": "network",
}


def comparison_parts(comparison: Comparison) -> list[Part]:
    """Everything there is to say, in order: texts and tables."""
    reports = comparison.reports
    return [
        title(comparison),
        *shared_lines(comparison.request),
        calls_table(comparison),
        headline_note(comparison),
        *error_band_parts(comparison.outcomes, run_word(comparison.graph)),
        NOTE,
        launching_table(reports, family_changes(reports)),
        f"Bytes moved in one {run_word(comparison.graph)}, over all members",
        bytes_table(reports),
        *energy_parts(reports, run_word(comparison.graph), tokens(comparison.graph)),
        *parts_tables(reports, run_word(comparison.graph)),
        *counting_rules(comparison),
        *warnings_of(comparison),
    ]


def warnings_of(comparison: Comparison) -> list[str]:
    """What is doubtful about a run, with whose run it is."""
    return [f"Warning ({r.machine} {r.mode}): {warning}" for r in comparison.reports for warning in r.warnings]


def title(comparison: Comparison) -> str:
    """What is compared, in two lines: workload, phase and sizes; the machines and how they run it."""
    graph, request = comparison.graph, comparison.request
    sizes = ", ".join(f"{name} {graph.sizes[name]:,}" for name in ("batch", "seq", "context") if name in graph.sizes)
    phase = f" {request.phase}" if "seq" in graph.sizes else ""
    gpu = f"{request.gpus} x {request.gpu} (GPU, {request.launch} launch)"
    rdu = f"{request.sockets} x {request.rdu} (RDU, {', '.join(_rdu_words(request))})"
    return f"{graph.name}{phase}{': ' + sizes if sizes else ''}\n{gpu} against {rdu}"


def _rdu_words(request: Request) -> list[str]:
    """How an RDU is asked to run, of which times depend: who launches, and what is not by default."""
    words = [f"{request.orchestration} launch"]
    if request.placement == "full":
        words.append(f"placed and routed with seed {request.seed}")
    if request.collectives == "separate":
        words.append("separate all-reduces")
    return words


def run_word(graph: Graph) -> str:
    """What one run of the graph makes: a token for every sequence, a prompt, or just a run."""
    if "seq" not in graph.sizes or "batch" not in graph.sizes:
        return "run"
    return "token" if graph.sizes["seq"] == 1 else "prompt"


def tokens(graph: Graph) -> int:
    """Tokens that one run of the graph takes in (runs, where the graph has no tokens)."""
    return 1 if run_word(graph) == "run" else graph.sizes["batch"] * graph.sizes["seq"]


def calls_table(comparison: Comparison) -> Table:
    """One row a machine and mode: calls, time, rate, bound, and the speed against the GPU's best."""
    graph, reports = comparison.graph, comparison.reports
    word = run_word(graph)
    rate = "runs/s" if word == "run" else "tokens/s"
    layered = any(layer_of(report) for report in reports)
    names = (Column("  machine", right=False), Column("mode", right=False))
    per_layer = (Column("calls/\nlayer"), Column("other\ncalls")) if layered else ()
    timing = (Column(f"calls/\n{word}"), Column(f"time/\n{word}"), Column(rate))
    ratios = (Column("lower bound,\nset by", right=False), Column("time/\nbound"), Column("speed vs\nbest GPU"))
    rows = [calls_row(outcome, comparison, layered) for outcome in comparison.outcomes]
    return Table((*names, *per_layer, *timing, *ratios), tuple(rows), family_changes(reports), keys=2)


def calls_row(outcome: Outcome, comparison: Comparison, layered: bool) -> tuple[str, ...]:
    """The cells of one row of the calls table."""
    report = outcome.report
    best_ps = min((r.time_ps for r in comparison.reports if r.family == "gpu"), default=0)
    layer = layer_of(report)
    outside = report.calls - (layer.total if layer else 0)
    return (
        f"{'*' if outcome.headline else ' '} {report.machine}",
        report.mode,
        *((layer_calls(layer), f"{outside:,}") if layered else ()),
        f"{report.calls:,}",
        time_text(report.time_ps),
        digits(tokens(comparison.graph) * PICOSECONDS / report.time_ps) if report.time_ps else "",
        f"{time_text(report.bound_ps)} {RESOURCE_TITLES.get(report.bound, report.bound)}",
        ratio_text(report.time_ps / report.bound_ps) if report.bound_ps else "",
        ratio_text(best_ps / report.time_ps) if report.time_ps and best_ps else "",
    )


def layer_of(report: Report) -> CallCount | None:
    """The block that is repeated most, if one is."""
    most = max(report.calls_by_block, key=lambda count: count.executions, default=None)
    return most if most and most.executions > 1 else None


def layer_calls(layer: CallCount | None) -> str:
    """Calls of one layer; where one call runs several layers, of how many."""
    if layer is None:
        return ""
    if layer.total < layer.executions:
        return f"{layer.total} for {layer.executions}"
    return str(layer.per_execution)


def headline_note(comparison: Comparison) -> str:
    """The starred pair in one sentence, '' if only one of it is there."""
    starred = {outcome.report.family: outcome.report for outcome in comparison.outcomes if outcome.headline}
    if len(starred) < 2:
        return ""
    gpu, rdu = starred["gpu"], starred["rdu"]
    layer = layer_of(rdu)
    looped = layer is not None and layer.total < layer.executions
    how = " with repeated blocks looped" if looped else " (not looped, `patternloom show` says why)" if layer else ""
    faster = ratio_text(gpu.time_ps / rdu.time_ps)
    more, fewer = f"{ratio_text(rdu.calls / gpu.calls)} more", f"{ratio_text(gpu.calls / rdu.calls)} fewer"
    return (
        f"* headline pair: {counted_calls(gpu.calls)} operator by operator on the GPU, {rdu.calls:,}{how} on the"
        f" RDU: {fewer if gpu.calls >= rdu.calls else more} calls, {faster} the speed."
    )


def counted_calls(number: int) -> str:
    """'1 call', '3 calls'."""
    return "1 call" if number == 1 else f"{number:,} calls"


def bytes_table(reports: Sequence[Report]) -> Table:
    """One row a machine and mode: bytes at every memory level that any of them has."""
    used = [level for level in LEVELS if any(dict(report.bytes).get(level) for report in reports)]
    columns = (Column("machine", right=False), Column("mode", right=False), *(Column(LEVEL_TITLES[x]) for x in used))
    rows = [(r.machine, r.mode, *(bytes_text(dict(r.bytes).get(level, 0)) or "-" for level in used)) for r in reports]
    return Table(columns, tuple(rows), family_changes(reports), keys=2)


def family_changes(reports: Sequence[Report]) -> tuple[int, ...]:
    """Numbers of the rows at which another family begins."""
    return tuple(i for i in range(1, len(reports)) if reports[i].family != reports[i - 1].family)

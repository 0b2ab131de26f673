"""Fusion that ends at a change of the access pattern, on a GPU, where an RDU's buffer is read in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.plot.bars import Bars
from experiments.survey import Record, Survey
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.compare import Outcome

GPU, RDU = "h100_sxm", "sn40l"
ROWS, COLUMNS = 8192, 4096
# Tuned kernels, and the policy that goes by predicted cost; the RDU node by node and as one pipeline.
MODES = ((GPU, "library"), (GPU, "auto"), (RDU, "unfused"), (RDU, "fused"))
PLAIN, TURNED, ACROSS = "not turned", "turned", "across"

HEAD = """
name: {name}
extents: {{rows: {rows}, columns: {columns}}}
tensors:
  x: {{dims: [rows, columns], dtype: bf16, role: input}}
  y: {{dims: [{order}], dtype: bf16, role: output}}
nodes:
"""
ELEMENTWISE = """
  e: {{kind: map, fn: exp, reads: [x]}}
{turn}
  y: {{kind: map, fn: tanh, reads: [{last}]}}
"""
TURN = '  t: {kind: buffer, fn: permute, reads: [e], order: "columns rows"}'
# Two normalisations: of rows, then of rows again or of columns.
NORMALISED = """
  e: {{kind: map,    fn: exp, reads: [x]}}
  s: {{kind: reduce, fn: sum, reads: [e], over: [columns]}}
  d: {{kind: zip,    fn: div, reads: [e, s]}}
  t: {{kind: reduce, fn: sum, reads: [d], over: [{over}]}}
  y: {{kind: zip,    fn: div, reads: [d, t]}}
"""


@dataclass(frozen=True)
class Pair:
    """Two operators one after the other, and whether the second one needs what the first made in another order."""

    operators: str
    access: str
    machine: str
    mode: str
    rows: int
    columns: int


def cases() -> Iterator[Pair]:
    """Every pair of operators, both accesses, every machine and mode."""
    for operators, accesses in (("exp, tanh", (PLAIN, TURNED)), ("normalise twice", (PLAIN, ACROSS))):
        for machine, mode in MODES:
            for access in accesses:
                yield Pair(operators, access, machine, mode, ROWS, COLUMNS)


def graph_text(case: Pair) -> str:
    """The pair as a graph of patterns."""
    sizes: dict[str, Any] = {"rows": case.rows, "columns": case.columns}
    turned = case.access == TURNED
    head = HEAD.format(name=case.operators.split()[0], order="columns, rows" if turned else "rows, columns", **sizes)
    if case.operators.startswith("exp"):
        return head.replace(",\n", "\n") + ELEMENTWISE.format(turn=TURN if turned else "", last="t" if turned else "e")
    return head + NORMALISED.format(over="rows" if case.access == ACROSS else "columns")


def outcome_of(case: Pair) -> Outcome:
    """One pair on one machine."""
    from experiments.compare import run_side
    from experiments.request import Request
    from experiments.settings import Settings
    from experiments.sides import side_on
    from patterns.read import parse_graph

    side = side_on(Request(case.operators), ("gpu", "rdu"), case.machine, case.mode, 1)
    (outcome,) = run_side(parse_graph(graph_text(case)), side, Settings())
    return outcome


def record(case: Pair) -> Record:
    """Calls, bytes and time of a pair."""
    outcome = outcome_of(case)
    report = outcome.report
    return {
        "operators": case.operators,
        "access": case.access,
        "machine": case.machine,
        "mode": case.mode,
        "run": f"{case.machine} {case.mode}",
        "calls": report.calls,
        "time_us": 1e6 * report.time_s,
        "bound_us": 1e6 * report.bound_s,
        "hbm_mb": dict(report.bytes)["hbm"] / 1e6,
        "energy_mj": 1e3 * report.energy.typical_j if report.energy else None,
    }


def finding(rows: Sequence[Record]) -> str:
    """What the change of access costs tuned kernels, and what a metapipeline."""
    told_of = []
    for machine, mode in ((GPU, "library"), (RDU, "fused")):
        own = [row for row in rows if (row["machine"], row["mode"]) == (machine, mode)]
        plain = {row["operators"]: row for row in own if row["access"] == PLAIN}
        turned = [row for row in own if row["access"] != PLAIN]
        spans = [[row[column] / plain[row["operators"]][column] for row in turned] for column in ("hbm_mb", "time_us")]
        moved, time = (" to ".join(dict.fromkeys((f"{min(span):.2f}", f"{max(span):.2f}"))) for span in spans)
        most = number_of(max(row["calls"] for row in turned), "call")
        told_of.append(f"on {machine} {mode} {moved} times the bytes and {time} times the time, in {most}")
    return f"Two operators of which the second needs another order take {'; '.join(told_of)}."


def details(rows: Sequence[Record]) -> str:
    """What the change of access costs each machine, and whether a smarter fusion gets round it."""
    return (
        "As many times what they cost in one order:"
        f" {'; '.join(told(rows, operators) for operators in dict.fromkeys(row['operators'] for row in rows))}."
    )


def told(rows: Sequence[Record], operators: str) -> str:
    """One pair on every machine; last whether any GPU policy here gets round it."""
    of_them = [row for row in rows if row["operators"] == operators]
    other = next(row["access"] for row in of_them if row["access"] != PLAIN)
    fused = [pair for pair in MODES if pair[1] != "unfused"]
    alike = [mode for machine, mode in fused if machine == GPU and calls(of_them, machine, mode, other) == 1]
    way = f"{' and '.join(alike)} turns tiles inside one kernel" if alike else "no policy here makes it one kernel"
    costs = ", ".join(cost(of_them, machine, mode, other) for machine, mode in fused)
    return f"{operators!r} {other}, {costs} (on the GPU {way})"


def calls(rows: Sequence[Record], machine: str, mode: str, access: str) -> int:
    """Calls of a run."""
    return next(int(r["calls"]) for r in rows if (r["machine"], r["mode"], r["access"]) == (machine, mode, access))


def cost(rows: Sequence[Record], machine: str, mode: str, other: str) -> str:
    """'h100_sxm library 2.00x the bytes and 1.96x the time in 2 calls'."""
    by_access = {row["access"]: row for row in rows if (row["machine"], row["mode"]) == (machine, mode)}
    plain, turned = by_access[PLAIN], by_access[other]
    return (
        f"{machine} {mode} {turned['hbm_mb'] / plain['hbm_mb']:.2f}x the bytes and"
        f" {turned['time_us'] / plain['time_us']:.2f}x the time in {number_of(turned['calls'], 'call')}"
    )


STUDY = Survey(
    question="What does it cost when the next operator needs another order than the one before it makes?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "transpose_bytes",
            label="run",
            values=("hbm_mb",),
            by="access",
            panel="operators",
            title="Off-chip bytes of two operators, in one order and in two",
        ),
        Bars(
            "transpose_time",
            label="run",
            values=("time_us",),
            by="access",
            panel="operators",
            bound="bound_us",
            title="Time of two operators, in one order and in two",
        ),
    ),
    keys=4,
)

"""Tokens a second by the time that each user waits for one: what a batch buys on GPUs and on an RDU."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.plot.lines import Lines
from experiments.point import Point, run_if_it_fits
from experiments.survey import Record, Survey

MODEL, CONTEXT, MEMBERS = "llama-3.1-8b", 2048, 8
SIDES = (("h100_sxm", "library"), ("h200", "library"), ("sn40l", "looped"))
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
# Milliseconds that a user may wait for a token.
LIMITS_MS = (2, 3, 5)


def cases() -> list[Point]:
    """Every machine and batch; GPUs replay a graph."""
    return [
        Point(MODEL, machine, mode, batch=batch, context=CONTEXT, members=MEMBERS, launch="graph")
        for machine, mode in SIDES
        for batch in BATCHES
    ]


def record(point: Point) -> Record | None:
    """A step of a batch; None where memory has no room."""
    outcome = run_if_it_fits(point)
    if outcome is None:
        return None
    report = outcome.report
    batch = point.batch or 1
    return {
        "machine": f"{point.members} x {point.machine}",
        "mode": point.mode,
        "batch": batch,
        "ms_a_token": 1e3 * report.time_s,
        "bound_ms": 1e3 * report.bound_s,
        "tokens_per_s": batch / report.time_s,
        "tokens_per_s_a_user": 1 / report.time_s,
        "j_a_token": report.energy.typical_j / batch if report.energy else None,
    }


def finding(rows: Sequence[Record]) -> str:
    """By limit: which machine gives most tokens with which batch, and the RDU beside it."""
    told = []
    for limit in LIMITS_MS:
        allowed = [row for row in rows if row["ms_a_token"] <= limit]
        best = [most_tokens(allowed), most_tokens([row for row in allowed if "sn40l" in row["machine"]])]
        given = dict.fromkeys(
            f"{row['tokens_per_s']:,.0f} on {row['machine']} (batch {row['batch']})" for row in best if row
        )
        told.append(f"in {limit} ms {', '.join(given) or 'none'}")
    return f"Most tokens a second of {MODEL} after {CONTEXT:,} others, by the time for one: {'; '.join(told)}."


def most_tokens(rows: Sequence[Record]) -> Record | None:
    """The row with most tokens a second, if there is any."""
    return max(rows, key=lambda row: row["tokens_per_s"], default=None)


def details(rows: Sequence[Record]) -> str:
    """Where a single user waits least."""
    fastest = min(rows, key=lambda row: row["ms_a_token"])
    return (
        f"A single user waits least on {fastest['machine']}: {fastest['ms_a_token']:.2f} ms a token at batch"
        f" {fastest['batch']}."
    )


STUDY = Survey(
    question="How many tokens a second does each machine give, by the time that a user waits for one?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Lines(
            "tokens_by_latency",
            x="ms_a_token",
            y="tokens_per_s",
            by="machine",
            title="Tokens a second of all users, by the time for one token of each; batches of"
            f" {BATCHES[0]} to {BATCHES[-1]}",
            x_label="ms a token",
            y_label="tokens/s",
            x_log=True,
            y_log=True,
        ),
    ),
    keys=3,
)

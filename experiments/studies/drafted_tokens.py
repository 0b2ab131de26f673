"""How many tokens a small model should draft for a large one, on a GPU and on an RDU.

A round drafts N tokens one after another and checks them, with the token before them, in one pass of the large model.
It gives (1 - a^(N+1)) / (1 - a) tokens on average where each is accepted with probability a (Leviathan et al., arXiv
2211.17192, equation 1), and is worth as many steps of the large model alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from experiments.plot.bars import Bars
from experiments.point import Point, run_point
from experiments.survey import Record, Survey

DRAFT, VERIFY = "llama-3.2-1b", "llama-3.1-8b"
WAYS = (("h100_sxm", "library"), ("sn40l", "looped"))
DRAFTED = (1, 2, 4, 6, 8)
ACCEPTED = (0.6, 0.7, 0.8, 0.9)
CONTEXT = 4096


@dataclass(frozen=True)
class Round:
    """A machine in a mode, and the tokens that are drafted in a round. step: a pass of the large model over one."""

    drafted: int
    draft_step: Point
    check: Point
    step: Point


def cases() -> list[Round]:
    """Every machine and number of drafted tokens."""
    return [
        Round(
            drafted,
            tokens_at_once(machine, mode, DRAFT, 1),
            tokens_at_once(machine, mode, VERIFY, drafted + 1),
            tokens_at_once(machine, mode, VERIFY, 1),
        )
        for machine, mode in WAYS
        for drafted in DRAFTED
    ]


def record(case: Round) -> Record:
    """The times of a round, and what it is worth by acceptance."""
    drafted = case.drafted
    draft_ms, check_ms, alone_ms = (time_ms(point) for point in (case.draft_step, case.check, case.step))
    round_ms = drafted * draft_ms + check_ms
    return {
        "machine": case.step.machine,
        "drafted": drafted,
        "draft_step_ms": draft_ms,
        "check_ms": check_ms,
        "round_ms": round_ms,
        "step_alone_ms": alone_ms,
        **{f"speed_at_{a}": expected_tokens(a, drafted) * alone_ms / round_ms for a in ACCEPTED},
    }


def expected_tokens(accepted: float, drafted: int) -> float:
    """Tokens that a round gives on average."""
    return sum(accepted**count for count in range(drafted + 1))


def tokens_at_once(machine: str, mode: str, model: str, tokens: int) -> Point:
    """A pass over a cache and so many tokens, all of them with a choice of their own."""
    settings = (("graph.seq", str(tokens)), ("graph.last", str(tokens)))
    return Point(model, machine, mode, context=CONTEXT, settings=settings)


@cache
def time_ms(point: Point) -> float:
    """The time of a pass."""
    return 1e3 * run_point(point).report.time_s


def finding(rows: Sequence[Record]) -> str:
    """The best number of drafted tokens by machine and acceptance."""
    parts = []
    for machine, _ in WAYS:
        own = [row for row in rows if row["machine"] == machine]
        best = {a: max(own, key=lambda row, a=a: row[f"speed_at_{a}"]) for a in ACCEPTED}  # type: ignore[misc]
        drafted = ", ".join(str(best[a]["drafted"]) for a in ACCEPTED)
        speeds = ", ".join(f"{best[a][f'speed_at_{a}']:.2f}" for a in ACCEPTED)
        parts.append(f"on {machine} {drafted} ({speeds} times as fast)")
    accepted = ", ".join(map(str, ACCEPTED))
    return f"Tokens that {DRAFT} should draft for {VERIFY} where {accepted} of them are accepted: {'; '.join(parts)}."


def details(rows: Sequence[Record]) -> str:
    """What a draft step takes."""
    shares = {row["machine"]: row["draft_step_ms"] / row["step_alone_ms"] for row in rows}
    told = ", ".join(f"{share:.2f} on {machine}" for machine, share in shares.items())
    return f"A draft step takes this share of a step of the large model: {told}."


STUDY = Survey(
    question="How many tokens should a small model draft for a large one, and what is that worth?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "speed",
            label="drafted",
            values=tuple(f"speed_at_{a}" for a in ACCEPTED),
            panel="machine",
            title="Tokens a second by how many are drafted, and by how often one is accepted",
            x_label="times as fast as without drafts",
        ),
    ),
    keys=2,
)

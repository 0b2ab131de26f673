"""How many tokens a small model should draft for a large one, on a GPU and on an RDU.

A round drafts N tokens one after another and checks them, with the token before them, in one pass of the large model.
It gives (1 - a^(N+1)) / (1 - a) tokens on average where each is accepted with probability a (Leviathan et al., arXiv
2211.17192, equation 1), and is worth as many steps of the large model alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from experiments.request import Request

DRAFT, VERIFY = "llama-3.2-1b", "llama-3.1-8b"
WAYS = (("h100_sxm", "library"), ("sn40l", "looped"))
DRAFTED = (1, 2, 4, 6, 8)
ACCEPTED = (0.6, 0.7, 0.8, 0.9)
CONTEXT = 4096


def records() -> list[Record]:
    """A row a machine and number of drafted tokens: the times of a round, and what it is worth by acceptance."""
    found = []
    for machine, mode in WAYS:
        draft_ms, alone_ms = time_ms(machine, mode, DRAFT, 1), time_ms(machine, mode, VERIFY, 1)
        for drafted in DRAFTED:
            check_ms = time_ms(machine, mode, VERIFY, drafted + 1)
            round_ms = drafted * draft_ms + check_ms
            found.append(
                {
                    "machine": machine,
                    "drafted": drafted,
                    "draft_step_ms": draft_ms,
                    "check_ms": check_ms,
                    "round_ms": round_ms,
                    "step_alone_ms": alone_ms,
                    **{f"speed_at_{a}": expected_tokens(a, drafted) * alone_ms / round_ms for a in ACCEPTED},
                }
            )
    return found


def expected_tokens(accepted: float, drafted: int) -> float:
    """Tokens that a round gives on average."""
    return sum(accepted**count for count in range(drafted + 1))


def time_ms(machine: str, mode: str, model: str, tokens: int) -> float:
    """The time of one pass over so many tokens, all of them with a choice of their own."""
    from experiments.compare import read_graph, run_side
    from experiments.settings import Settings
    from experiments.sides import side_on

    asked = request(model)
    settings = Settings((("graph", "seq", str(tokens)), ("graph", "last", str(tokens))))
    side = side_on(asked, ("gpu", "rdu"), machine, mode, 1)
    (outcome,) = run_side(read_graph(asked, 1, settings), side, Settings())
    return 1e3 * outcome.report.time_s


def request(model: str) -> Request:
    """A pass of a model over a cache."""
    from experiments.request import Request

    return Request(model, context=CONTEXT)


def finding(rows: Sequence[Record]) -> str:
    """The best number of drafted tokens by machine and acceptance, and the time of the parts."""
    parts = []
    for machine, _ in WAYS:
        own = [row for row in rows if row["machine"] == machine]
        best = {a: max(own, key=lambda row, a=a: row[f"speed_at_{a}"]) for a in ACCEPTED}  # type: ignore[misc]
        told = ", ".join(f"{best[a]['drafted']} at {a} ({best[a][f'speed_at_{a}']:.2f}x)" for a in ACCEPTED)
        share = own[0]["draft_step_ms"] / own[0]["step_alone_ms"]
        parts.append(f"on {machine}, where a draft step takes {share:.2f} of a step of the large model, {told}")
    return f"Tokens that {DRAFT} should draft for {VERIFY}, by how often one is accepted: {'; '.join(parts)}."


STUDY = Survey(
    question="How many tokens should a small model draft for a large one, and what is that worth?",
    records=records,
    finding=finding,
    keys=2,
)

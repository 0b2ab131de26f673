"""rdu_modes: how much faster one way to call the sections is than another, beside published ranges.

The figures are ranges over models; one model is shown for each, which has to lie inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.rdu_llama import Phase
    from rdu_model.machine import Machine

PART: Literal[""] = ""
MACHINE = "sn40l"


def rows(tables: Tables) -> Sequence[Row]:
    """A row a pair of ways to call, a model and a phase."""
    return [
        Row(
            id=figure.id,
            machine=MACHINE,
            side="rdu",
            predict=partial(calls_ratio if figure.text("metric") == "calls" else speedup, figure),
            measured=figure.low,
            to=figure.high,
            unit="times",
            source=figure.source,
            group=figure.text("metric"),
            target=figure.flag("target"),
            explain=partial(calls_words, figure) if figure.text("metric") == "calls" else None,
        )
        for figure in published("rdu_modes")
    ]


def speedup(figure: Figure, machine: Machine) -> float:
    """The time of the slower way over that of the faster one."""
    from experiments.validation.rdu_llama import phase_ms

    slower, faster = (
        phase_ms(_phase(figure), machine, figure.text(f"{which}_mode"), figure.text(f"{which}_by"))
        for which in ("slower", "faster")
    )
    return slower / faster


def calls_ratio(figure: Figure, machine: Machine) -> float:
    """The calls of the slower way over those of the faster one."""
    slower, faster = _calls(figure, machine)
    return slower / faster


def calls_words(figure: Figure, machine: Machine) -> str:
    """What the ratio of calls is made of."""
    slower, faster = _calls(figure, machine)
    return f"{slower:,} calls over {faster:,}. How many sections the published run had is not told."


def _calls(figure: Figure, machine: Machine) -> tuple[int, int]:
    from experiments.validation.rdu_llama import calls_of

    slower, faster = (calls_of(_phase(figure), machine, figure.text(f"{w}_mode")) for w in ("slower", "faster"))
    return slower, faster


def _phase(figure: Figure) -> Phase:
    from experiments.validation.rdu_llama import Phase

    return Phase(figure.text("model"), figure.text("phase"), 1, figure.count("context"), figure.count("sockets"))

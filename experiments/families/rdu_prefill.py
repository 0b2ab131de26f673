"""rdu_prefill: the time to the first token of a batch of prompts on RDUs, in s."""

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
    """A row a model and batch."""
    return [
        Row(
            id=figure.id,
            machine=MACHINE,
            side="rdu",
            predict=partial(first_token_s, figure),
            measured=figure.value("seconds"),
            unit="s",
            source=figure.source,
            group=figure.text("model"),
            target=figure.flag("target"),
            explain=partial(first_token_words, figure),
        )
        for figure in published("rdu_prefill")
    ]


def first_token_s(figure: Figure, machine: Machine) -> float:
    """Seconds of the prefill of all prompts at once, behind what the endpoint takes for a request."""
    from experiments.validation.rdu_llama import phase_ms

    return (figure.value("endpoint_ms") + phase_ms(_phase(figure, figure.count("batch")), machine)) / 1e3


def first_token_words(figure: Figure, machine: Machine) -> str:
    """How much of the peak the measured time would be, and what prompts one after another would take."""
    from experiments.validation.rdu_llama import phase_ms
    from patterns.count import graph_demand

    batch, sockets = figure.count("batch"), figure.count("sockets")
    flops = graph_demand(_phase(figure, batch).graph).matrix_flops
    reached = 100 * flops / figure.value("seconds") / machine.peak_flops_per_s
    one_by_one_s = (figure.value("endpoint_ms") + batch * phase_ms(_phase(figure, 1), machine)) / 1e3
    return (
        f"the measured time is {reached:.0f} % of the peak of {sockets} sockets; prompts one after another would take"
        f" {one_by_one_s:.2f} s. The endpoint does not tell which of both it does."
    )


def _phase(figure: Figure, batch: int) -> Phase:
    from experiments.validation.rdu_llama import Phase

    return Phase(figure.text("model"), "prefill", batch, figure.count("tokens"), figure.count("sockets"))

"""rdu_decode: Llama on 8 RDU sockets behind an endpoint: tokens of prompt and answer in a second, request by request.

A request is a prefill, which makes the first token, and looped steps whose time grows with the context, behind what the
endpoint itself takes. Rows at batch 1 are targets; of larger batches the endpoint does not tell how requests share a
step, so they stand beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part
    from rdu_model.machine import Machine

PART: Part = "sections"
MACHINE = "sn40l"


def rows(tables: Tables) -> Sequence[Row]:
    """A row a model, batch and length."""
    return [
        Row(
            id=figure.id,
            machine=MACHINE,
            side="rdu",
            predict=partial(tokens_per_s, figure),
            measured=figure.value("tokens_per_s"),
            unit="tokens/s",
            source=figure.source,
            group=f"{figure.text('model')} batch {figure.text('batch')}",
            target=figure.flag("target"),
        )
        for figure in published("rdu_decode")
    ]


def tokens_per_s(figure: Figure, machine: Machine) -> float:
    """Tokens of prompts and answers in a second."""
    return figure.count("batch") * 2 * figure.count("length") / request_s(figure, machine)


def request_s(figure: Figure, machine: Machine) -> float:
    """Seconds of a request: what the endpoint takes, the prefill, and steps from the first context to the last.

    Raises UserErrors.
    """
    from experiments.validation.rdu_llama import Phase, phase_ms

    model, batch, length, sockets = (figure.text("model"), *(figure.count(n) for n in ("batch", "length", "sockets")))
    prefill = phase_ms(Phase(model, "prefill", batch, length, sockets), machine)
    ends = [phase_ms(Phase(model, "decode", batch, length + n, sockets), machine) for n in (1, length - 1)]
    return (figure.value("endpoint_ms") + prefill + (length - 1) * sum(ends) / 2) / 1e3

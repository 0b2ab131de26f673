"""llama_serving: time per output token of servers of Llama 3.1 8B, in ms, from the database's silicon_sample.csv.

bf16, prefills and steps on the same GPUs. While a request makes its tokens, each of the others is prefilled once. These
engines prepare a step while the one before runs, so their hosts are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from experiments.families.llama_decode import serving_ms
from experiments.validation.row import Row
from experiments.validation.tables import Tables

PART: Literal[""] = ""
LAUNCH = "graph"
MODELS = {"meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b"}


def rows(tables: Tables) -> Sequence[Row]:
    """A row a server. Raises UserError."""
    from experiments.validation.samples import serving_samples

    return [
        Row(
            id=f"{sample.gpu} x{sample.members} {sample.isl}+{sample.osl} tokens, {sample.batch} in flight",
            machine=sample.gpu,
            predict=partial(serving_ms, sample.model, sample.members, sample.batch, sample.isl, sample.osl, LAUNCH),
            measured=sample.tpot_ms,
            unit="ms",
            source=sample.source,
            group=f"{sample.model} x{sample.members}",
        )
        for sample in serving_samples(tables, MODELS)
    ]

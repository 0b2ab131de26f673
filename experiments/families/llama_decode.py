"""llama_decode: Llama 3 on GPUs as serving benchmarks time it: whole runs in s, steps in ms.

A step is a replayed graph of the `library` policy's kernels, behind what the engine's host does first. Whole runs: a
prefill, then steps whose time grows with the context. Serving: while a request makes its tokens, each of the others is
prefilled once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from gpu_model.machine import Machine

PART: Literal[""] = ""
# Tokens of context between which the slope is taken, as a fit over contexts would find it.
SLOPE_CONTEXTS = (1024, 8192)


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure."""
    return [
        Row(
            id=figure.id,
            machine=figure.text("gpu"),
            predict=partial(
                METRICS[figure.text("metric")],
                figure.text("model"),
                figure.count("gpus"),
                figure.count("batch"),
                figure.count("input"),
                figure.count("output"),
                figure.text("launch"),
            ),
            measured=figure.value("value"),
            unit=figure.text("unit"),
            source=figure.source,
            group=_group(figure),
            settings=(("serving_step_ps", figure.text("host")),),
        )
        for figure in published("llama_decode")
    ]


def _group(figure: Figure) -> str:
    return f"{figure.text('model')} x{figure.text('gpus')} {figure.text('source')}"


def run_s(model: str, members: int, batch: int, prompt: int, output: int, launch: str, machine: Machine) -> float:
    """Seconds of a prefill, which makes the first token, and of the steps that make the others."""
    from experiments.validation.llama import prefill_ms, step_ms

    steps = output - 1
    ends = [step_ms(model, batch, prompt + n, members, launch, machine) for n in (1, max(1, steps))]
    return (prefill_ms(model, batch, prompt, members, machine) + steps * sum(ends) / 2) / 1e3


def one_step_ms(model: str, members: int, batch: int, prompt: int, output: int, launch: str, machine: Machine) -> float:
    """Milliseconds of the step in the middle of a run."""
    from experiments.validation.llama import step_ms

    return step_ms(model, batch, prompt + (output + 1) // 2, members, launch, machine)


def slope_ns(model: str, members: int, batch: int, prompt: int, output: int, launch: str, machine: Machine) -> float:
    """Nanoseconds that a token of context adds to a step."""
    from experiments.validation.llama import step_ms

    near, far = (step_ms(model, batch, context, members, launch, machine) for context in SLOPE_CONTEXTS)
    return (far - near) / (SLOPE_CONTEXTS[1] - SLOPE_CONTEXTS[0]) * 1e6


def serving_ms(model: str, members: int, batch: int, prompt: int, output: int, launch: str, machine: Machine) -> float:
    """Milliseconds a token: a step, and the share of the other requests' prefills in it."""
    from experiments.validation.llama import prefill_ms

    step = one_step_ms(model, members, batch, prompt, output, launch, machine)
    return step + (batch - 1) / output * prefill_ms(model, 1, prompt, members, machine)


METRICS: Mapping[str, Callable[..., float]] = {
    "run": run_s,
    "step": one_step_ms,
    "slope": slope_ns,
    "serving": serving_ms,
}

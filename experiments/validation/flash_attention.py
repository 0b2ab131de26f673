"""Rows of the FlashAttention papers: attention forward in TFLOP/s, by schedule."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.published import Figure, published
from experiments.validation.row import Row

if TYPE_CHECKING:
    from gpu_model.machine import Machine

GPU = "h100_sxm"
# The clock of the papers' runs, whatever the tensor cores draw.
FIXED_CLOCK = (("clock_hz", "1.83 GHz"), ("boost_clock_hz", "1.83 GHz"), ("clock_droop_share", "0"))
BOOST = "boost"


def flash_attention_rows(kernel: str, schedule: str) -> list[Row]:
    """Rows of one kernel in experiments/measured/flash_attention.yaml."""
    return [
        Row(
            id=figure.id,
            machine=GPU,
            predict=partial(
                attention_tflops,
                figure.count("batch"),
                figure.count("tokens"),
                figure.count("heads"),
                figure.count("head_dim"),
                figure.flag("causal"),
                figure.text("dtype"),
                schedule,
            ),
            measured=figure.value("tflops_per_s"),
            unit="TFLOP/s",
            source=figure.source,
            group=_group(figure),
            settings=() if figure.text("source") == BOOST else FIXED_CLOCK,
        )
        for figure in published("flash_attention")
        if figure.text("kernel") == kernel
    ]


def _group(figure: Figure) -> str:
    mask = "causal" if figure.flag("causal") else "full"
    return f"{figure.text('dtype')} dim {figure.count('head_dim')} {mask}"


def attention_tflops(
    batch: int, tokens: int, heads: int, head_dim: int, causal: bool, dtype: str, schedule: str, machine: Machine
) -> float:
    """TFLOP/s of the attention kernel: 4 x tokens^2 x head dim x heads x batch FLOPs, half of them where causal."""
    from experiments.validation.graphs import attention, of_inputs, unmasked
    from experiments.validation.replay import replayed_us

    graph = of_inputs(attention(batch, tokens, tokens, heads, heads, head_dim), dtype)
    flops = 4 * tokens**2 * head_dim * heads * batch // (2 if causal else 1)
    return flops / replayed_us(graph if causal else unmasked(graph), machine, schedule=schedule) / 1e6

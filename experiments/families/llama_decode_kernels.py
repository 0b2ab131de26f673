"""llama_decode_kernels: the kernels of one decode step of Llama 3.1 8B, part by part and in all, in ms over all layers.

Batch 1, 2,048 tokens of context, bf16. Each kernel is measured in a replayed graph, so its gap belongs to it; attention
was measured with what stands beside it in the database's rows (see kv_cache.py), which is added for each layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from gpu_model.machine import Machine
    from patterns.plan import Plan

PART: Literal[""] = ""
MODEL = "llama-3.1-8b"
CONTEXT = 2048
TOTAL, ATTENTION = "total", "attention"
# A node of the kernel that a part is.
NODES = {"qkv": "q", "attention": "scores", "o_proj": "o", "gate_up": "gate", "down": "down", "lm_head": "logits"}


def rows(tables: Tables) -> Sequence[Row]:
    """A row a part of each library."""
    return [
        Row(
            id=figure.id,
            machine=figure.text("gpu"),
            predict=partial(part_ms, figure.text("part"), figure.count("gpus")),
            measured=figure.value("ms"),
            unit="ms",
            source=figure.source,
            group=figure.text("part"),
        )
        for figure in published("llama_decode_kernels")
    ]


def part_ms(part: str, members: int, machine: Machine) -> float:
    """Milliseconds of the kernels of a part, or of all kernels."""
    from experiments.validation.llama import decode_plan
    from experiments.validation.replay import kernel_us

    plan = decode_plan(MODEL, 1, CONTEXT, members, "graph", machine)
    named = {call.name for call in plan.calls if part == TOTAL or NODES[part] in call.nodes}
    kernels_us = sum(kernel_us(plan, call) for call in plan.calls if call.name in named or call.combines in named)
    return (kernels_us + beside_us(part, plan, machine)) / 1e3


def beside_us(part: str, plan: Plan, machine: Machine) -> float:
    """Microseconds of what was measured with attention, in all layers. Of all kernels, one writes the cache already."""
    from experiments.validation.kv_cache import PREPARED_US, beside_attention_us

    sizes = plan.graph.sizes
    if part == TOTAL:
        return sizes["layers"] * PREPARED_US
    if part == ATTENTION:
        return sizes["layers"] * beside_attention_us(1, sizes["kv_heads"], sizes["head_dim"], machine)
    return 0.0

"""Imported graphs give the numbers of the models' own code.

Expected are the first four logits of the last of six tokens, which transformers 5.24 computed in float64 (its norms in
float32) with the same weights: those that `weights` makes of a tensor's name, put into its models by the tables of
stored weights.
"""

from __future__ import annotations

import json
import re
from math import prod
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from patterns.evaluate import evaluate, random_arrays
from patterns.importers.huggingface import config_graph

SEQ = 6
THETA, GEMMA_3_THETA = 1e4, 1e6
SHAPES: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "vocab_size": 64,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip
GEMMA = {"head_dim": 12, "query_pre_attn_scalar": 20, "sliding_window": 4, "attention_bias": True}
QWEN_MOE = {"moe_intermediate_size": 20, "num_experts_per_tok": 3}
LATENT = {
    "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 10, "num_key_value_heads": 4,
    "n_routed_experts": 8, "moe_intermediate_size": 20, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2,
    "first_k_dense_replace": 1,
}  # fmt: skip

EXPECTED: list[tuple[str, dict[str, Any], list[float]]] = [
    ("LlamaForCausalLM", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
     [1.09981, 0.28095, -0.53008, 1.96539]),
    ("Qwen2ForCausalLM", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 2},
     [1.22917, -0.20375, -0.90815, 2.49273]),
    ("Qwen3ForCausalLM", {"attention_bias": True, "head_dim": 12}, [0.43654, -0.32236, -0.60566, -0.33614]),
    ("Gemma2ForCausalLM", GEMMA, [-1.0728, -0.77215, -5.02179, -3.51458]),
    ("Gemma3ForCausalLM", {**GEMMA, "num_hidden_layers": 8}, [-0.84533, -1.32338, -3.40359, -1.24193]),
    ("Phi3ForCausalLM", {"partial_rotary_factor": 0.5, "tie_word_embeddings": True},
     [-0.0036, -0.64011, 2.01841, -0.58491]),
    ("PhiForCausalLM", {"hidden_act": "gelu_new"}, [-0.35066, 0.49434, -0.65507, -0.11295]),
    ("MixtralForCausalLM", {"num_local_experts": 4, "num_experts_per_tok": 2}, [0.33495, 1.29345, 1.03031, -0.70613]),
    ("Qwen2MoeForCausalLM", {**QWEN_MOE, "num_experts": 8, "shared_expert_intermediate_size": 24},
     [0.40229, 0.39802, -0.54836, 0.7653]),
    ("Qwen3MoeForCausalLM", {**QWEN_MOE, "num_experts": 8, "norm_topk_prob": True, "head_dim": 12},
     [-1.77886, -0.8565, 0.86906, -0.47867]),
    ("DeepseekV2ForCausalLM",
     {**LATENT, "n_shared_experts": 2, "topk_method": "group_limited_greedy", "routed_scaling_factor": 3.0},
     [0.70426, -0.86034, -1.36876, -0.54082]),
    ("DeepseekV3ForCausalLM", {**LATENT, "n_shared_experts": 1, "q_lora_rank": 20},
     [0.16815, -0.05177, -0.62401, -0.66623]),
    ("MambaForCausalLM", {"intermediate_size": 64, "num_hidden_layers": 3, "state_size": 5},
     [1.03108, -1.55215, -0.79664, 1.26046]),
]  # fmt: skip


def weights(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Numbers that look random, of a tensor's name: gains around one, others around zero."""
    at = np.arange(prod(shape), dtype=float).reshape(shape)
    spread = np.sin(12.9898 * at + crc32(name.encode()) % 997) * 43758.5453
    part = spread - np.floor(spread)
    gain = re.fullmatch(r"(.*_)?gain(_\d+)?", name)
    return 0.7 + 0.6 * part if gain else 0.7 * (part - 0.5)


def rotary(dims: int, theta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Tables of cosines and sines, the sines of the first half of the dims negative."""
    angles = np.arange(SEQ)[:, None] * theta ** (-np.arange(0, dims, 2) / dims)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([cos, cos], -1)[None], np.concatenate([-sin, sin], -1)[None]


@pytest.mark.parametrize(("architecture", "changes", "expected"), EXPECTED)
def test_logits_are_those_of_the_models_own_code(
    architecture: str, changes: dict[str, Any], expected: list[float]
) -> None:
    config = json.dumps({"architectures": [architecture], **SHAPES, **changes})
    graph = config_graph(config, "config.json", "tiny", overrides={"context": str(SEQ), "seq": "context"})
    arrays = random_arrays(graph, 0)
    for tensor in graph.tensors:
        if tensor.role == "weight":
            arrays[tensor.name] = weights(tensor.name, arrays[tensor.name].shape)
        elif tensor.role == "state":
            arrays[tensor.name] = np.zeros_like(arrays[tensor.name])
    places = np.arange(SEQ)
    arrays |= {name: places for name in ("slots", "window_slots") if name in arrays}
    arrays |= {name: places[None] for name in ("positions", "places") if name in arrays}
    arrays["tokens"] = np.array([[5 * at + 1 for at in places]])
    for before, theta in (("", GEMMA_3_THETA if "Gemma3" in architecture else THETA), ("window_", THETA)):
        if f"{before}cos" in arrays:
            arrays[f"{before}cos"], arrays[f"{before}sin"] = rotary(arrays[f"{before}cos"].shape[-1], theta)
    logits = next(node.reads[0] for _, node in graph.nodes() if node.writes == "next_token")
    found = evaluate(graph, arrays, also=(logits,))[logits]
    np.testing.assert_allclose(found[0, 0, :4], expected, atol=3e-5)

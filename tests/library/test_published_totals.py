"""Published totals of model families' parameters, worked out again from the shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from patterns.count import parameter_bytes, parameters
from patterns.importers.huggingface import config_graph
from patterns.library import CONFIGS, config_names, workload
from patterns.plugin import data_file

Config = dict[str, Any]


def attention(c: Config) -> int:
    """Matrices that make queries, keys, values and the result."""
    head = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    return 2 * c["hidden_size"] * head * (c["num_attention_heads"] + c["num_key_value_heads"])


def mlp(c: Config) -> int:
    """Gate, up and down."""
    return 3 * c["hidden_size"] * c["intermediate_size"]


def total(c: Config, layer: int) -> int:
    """Table and head (once if they are tied), layers, and the last norm."""
    tables = 1 if c["tie_word_embeddings"] else 2
    return tables * c["vocab_size"] * c["hidden_size"] + c["num_hidden_layers"] * layer + c["hidden_size"]


def plain(c: Config) -> int:
    return total(c, attention(c) + mlp(c) + 2 * c["hidden_size"])


def with_biases(c: Config) -> int:
    """Biases of queries, keys and values in every layer."""
    head = c["hidden_size"] // c["num_attention_heads"]
    return plain(c) + c["num_hidden_layers"] * head * (c["num_attention_heads"] + 2 * c["num_key_value_heads"])


def with_head_norms(c: Config) -> int:
    """A gain of a head's width for queries, and one for keys."""
    return plain(c) + c["num_hidden_layers"] * 2 * c["head_dim"]


def with_post_norms(c: Config) -> int:
    """Norms after attention and after the MLP."""
    return plain(c) + c["num_hidden_layers"] * 2 * c["hidden_size"]


def with_experts(c: Config) -> int:
    """As many MLPs as there are experts, and a router."""
    experts = c["num_local_experts"]
    layer = attention(c) + experts * mlp(c) + experts * c["hidden_size"] + 2 * c["hidden_size"]
    return total(c, layer)


def with_narrow_experts(c: Config) -> int:
    """Experts of a width of their own, and norms of heads."""
    experts = {"num_local_experts": c["num_experts"], "intermediate_size": c["moe_intermediate_size"]}
    return with_experts({**c, **experts}) + c["num_hidden_layers"] * 2 * c["head_dim"]


def with_latent_attention(c: Config) -> int:
    """DeepSeek-V3: 3 dense layers, 58 of experts of which one is for all tokens; all with latent attention."""
    hidden, heads, small, rank = c["hidden_size"], c["num_attention_heads"], c["q_lora_rank"], c["kv_lora_rank"]
    nope, rope, value = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    down = hidden * small + small + hidden * (rank + rope) + rank
    layer = down + small * heads * (nope + rope) + rank * heads * (nope + value) + heads * value * hidden + 2 * hidden
    dense, experts = c["first_k_dense_replace"], c["n_routed_experts"]
    routed = (experts + c["n_shared_experts"]) * 3 * hidden * c["moe_intermediate_size"] + experts * (hidden + 1)
    return total(c, layer) + dense * mlp(c) + (c["num_hidden_layers"] - dense) * routed


def recurrent(c: Config) -> int:
    """Mamba: two projections, a convolution with its bias, steps and states, a norm; the head is the table."""
    hidden, inner, state, rank = c["hidden_size"], c["intermediate_size"], c["state_size"], c["time_step_rank"]
    mixer = inner * (c["conv_kernel"] + 1) + inner * (rank + 2 * state) + rank * inner + inner + inner * state + inner
    return total(c, 3 * hidden * inner + mixer + hidden)


PUBLISHED: dict[str, tuple[int, Callable[[Config], int]]] = {
    "mistral-7b": (7_241_732_096, plain),
    "qwen2.5-7b": (7_615_616_512, with_biases),
    "qwen3-4b": (4_022_468_096, with_head_norms),
    "qwen3-8b": (8_190_735_360, with_head_norms),
    "gemma-2-9b": (9_241_705_984, with_post_norms),
    "phi-3-mini": (3_821_079_552, plain),
    "mixtral-8x7b": (46_702_792_704, with_experts),
    "qwen3-30b-a3b": (30_532_122_624, with_narrow_experts),
    "deepseek-v3": (671_026_419_200, with_latent_attention),
    "mamba-130m": (129_135_360, recurrent),
}


def shipped(name: str) -> Config:
    """A shipped config.json, read as plain JSON."""
    found: Config = json.loads(data_file(CONFIGS, name, ".json", "config").read_text())
    return found


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_published(name: str) -> None:
    published, derived = PUBLISHED[name]
    assert parameters(workload(name)) == derived(shipped(name)) == published


def test_every_shipped_config_was_counted() -> None:
    assert {name for name in config_names() if not name.startswith("llama")} == set(PUBLISHED)


def test_weights_of_four_bits_in_groups() -> None:
    """Of 128 weights: 64 bytes, a scale of 2, a zero of half a byte; table, head and norms stay as they are."""
    config = {**shipped("llama-3.1-8b"), "torch_dtype": "float16"}
    plain_bytes = parameter_bytes(config_graph(json.dumps(config), "config.json", "plain"))
    narrow = {**config, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    made = config_graph(json.dumps(narrow), "config.json", "narrow")
    matrices = 32 * (attention(config) + mlp(config))
    assert parameter_bytes(made) == plain_bytes - 2 * matrices + matrices // 128 * 133 // 2
    assert made.tensor_named["w_q"].dtype == "int4"

"""Model families: published totals worked out again from the shapes, and what each family's graph has of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from patterns.count import parameters
from patterns.graph import Graph
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


PUBLISHED: dict[str, tuple[int, Callable[[Config], int]]] = {
    "mistral-7b": (7_241_732_096, plain),
    "qwen2.5-7b": (7_615_616_512, with_biases),
    "qwen3-4b": (4_022_468_096, with_head_norms),
    "qwen3-8b": (8_190_735_360, with_head_norms),
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


TINY: Config = {
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "vocab_size": 128,
}


def tiny(architecture: str, **changes: Any) -> Graph:
    """A small model of an architecture."""
    return config_graph(json.dumps({"architectures": [architecture], **TINY, **changes}), "config.json", "tiny")


def written_by(graph: Graph, fn: str) -> list[str]:
    return [node.name for _, node in graph.nodes() if node.fn == fn]


def test_heads_may_be_wider_than_their_part_of_the_hidden_size() -> None:
    """Qwen3-4B: 32 heads of 128 with a hidden size of 2560."""
    assert workload("qwen3-4b").shape("w_q") == (2560, 8, 4, 128)


def test_a_windowed_model_keeps_what_its_window_sees() -> None:
    far = workload("mistral-7b", context=32_768)
    assert far.shape("k_cache") == (1, 4096, 8, 128)
    assert workload("mistral-7b", context=1000).shape("k_cache") == (1, 1000, 8, 128)
    assert workload("mistral-7b", "prefill", context=8192).shape("k_cache") == (1, 8192, 8, 128)


def test_without_a_window_mistral_is_llama() -> None:
    made = tiny("MistralForCausalLM", sliding_window=None)
    assert made == tiny("LlamaForCausalLM")


def test_windows_from_a_layer_on() -> None:
    """Two layers that see all, and two with a window: two blocks, and the second goes on from the first."""
    changes = {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2}
    made = tiny("Qwen2ForCausalLM", **changes)
    first, second = made.blocks[1:3]
    assert [(block.name, block.count) for block in (first, second)] == [("decoder_1", 2), ("decoder_2", 2)]
    assert second.carried == (("middle_1", "middle_2"), ("down_1", "down_2"))
    assert (written_by(made, "causal"), written_by(made, "sliding_window")) == (["masked_1"], ["masked_2"])
    assert made.tensor_named["k_cache_2"].dims == ("batch", "kept", "kv_heads", "head_dim")

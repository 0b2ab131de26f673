"""Figures of the Llama models, each worked out again from the config alone."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from patterns.count import compulsory, graph_demand, parameter_bytes, parameters, state_capacity_bytes
from patterns.counting.copies import copies
from patterns.library import config_names, workload

PUBLISHED = {
    "llama-2-7b": 6_738_415_616,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
}
BF16_BYTES = 2


def config(name: str) -> dict[str, Any]:
    """A shipped config.json, read as plain JSON."""
    found: dict[str, Any] = json.loads(files("patterns.library.configs").joinpath(f"{name}.json").read_text())
    return found


def layer_parameters(c: dict[str, Any]) -> int:
    """q, k, v, o, three matrices of the MLP, two norms."""
    hidden, head = c["hidden_size"], c.get("head_dim", c["hidden_size"] // c["num_attention_heads"])
    q = hidden * c["num_attention_heads"] * head
    kv = hidden * c["num_key_value_heads"] * head
    return q + 2 * kv + q + 3 * hidden * c["intermediate_size"] + 2 * hidden


def model_parameters(c: dict[str, Any]) -> int:
    """Table, layers, last norm, and a head of its own unless it is the table."""
    table = c["vocab_size"] * c["hidden_size"]
    tables = 1 if c["tie_word_embeddings"] else 2
    return tables * table + c["num_hidden_layers"] * layer_parameters(c) + c["hidden_size"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_published(name: str) -> None:
    assert parameters(workload(name)) == model_parameters(config(name)) == PUBLISHED[name]
    assert parameter_bytes(workload(name)) == PUBLISHED[name] * BF16_BYTES


def test_every_shipped_config_was_counted() -> None:
    assert {name for name in config_names() if name.startswith("llama")} == set(PUBLISHED)


@pytest.mark.parametrize(("name", "per_token"), [("llama-3.1-8b", 131_072), ("llama-3.2-1b", 32_768)])
def test_a_token_of_context_takes_its_keys_and_values(name: str, per_token: int) -> None:
    c = config(name)
    head = c.get("head_dim", c["hidden_size"] // c["num_attention_heads"])
    assert 2 * c["num_hidden_layers"] * c["num_key_value_heads"] * head * BF16_BYTES == per_token
    longer, shorter = (state_capacity_bytes(workload(name, context=context)) for context in (4097, 4096))
    assert longer - shorter == per_token
    assert shorter == 4096 * per_token


def test_a_decode_step_of_8b_must_move_these_bytes() -> None:
    """All weights but the table, one row of it, the whole cache read, one token of it written."""
    c, moved = config("llama-3.1-8b"), compulsory(workload("llama-3.1-8b", context=4096))
    table = c["vocab_size"] * c["hidden_size"]
    assert moved.weight_bytes == (model_parameters(c) - table) * BF16_BYTES == 15_009_849_344
    assert moved.gathered_bytes == c["hidden_size"] * BF16_BYTES
    assert moved.state_bytes == 4096 * 131_072 == 536_870_912
    assert moved.state_written_bytes == 131_072
    # token, position, slots, cosines and sines
    assert moved.input_bytes == 4 + 4 + 4096 * 4 + 2 * 128 * BF16_BYTES
    assert moved.output_bytes == 4


def test_a_tied_head_reads_the_table_whole() -> None:
    """The head needs every row, so the table is read; it has no second copy."""
    moved = compulsory(workload("llama-3.2-1b"))
    assert moved.weight_bytes == PUBLISHED["llama-3.2-1b"] * BF16_BYTES
    assert moved.gathered_bytes == 0


def test_a_decode_step_multiplies_every_weight_once_for_each_sequence() -> None:
    """2 FLOPs a weight of a matrix and sequence; attention is 4 FLOPs a query head, element and token of context."""
    c, batch, context = config("llama-3.1-8b"), 3, 1000
    norms = (2 * c["num_hidden_layers"] + 1) * c["hidden_size"]
    matrices = model_parameters(c) - c["vocab_size"] * c["hidden_size"] - norms
    attention = 4 * c["num_hidden_layers"] * c["num_attention_heads"] * 128 * context
    found = graph_demand(workload("llama-3.1-8b", batch=batch, context=context)).matrix_flops
    assert found == batch * (2 * matrices + attention)


def test_prefill_multiplies_for_every_token_but_the_head_only_for_the_last() -> None:
    c, tokens = config("llama-3.1-8b"), 128
    layers = c["num_hidden_layers"] * (layer_parameters(c) - 2 * c["hidden_size"])
    attention = 4 * c["num_hidden_layers"] * c["num_attention_heads"] * 128 * tokens * tokens
    head = c["vocab_size"] * c["hidden_size"]
    found = graph_demand(workload("llama-3.1-8b", phase="prefill", context=tokens)).matrix_flops
    assert found == 2 * layers * tokens + attention + 2 * head


@pytest.mark.parametrize("members", [2, 8, 16])
def test_members_divide_matrices_and_not_norms(members: int) -> None:
    """Query heads, ffn and vocabulary are divided; KV heads too, down to one, which members then share."""
    c, made = config("llama-3.1-70b"), workload("llama-3.1-70b", members=members)
    hidden, layers, head = c["hidden_size"], c["num_hidden_layers"], 128
    kv_heads = max(1, c["num_key_value_heads"] // members)
    q, kv = hidden * c["num_attention_heads"] * head // members, hidden * kv_heads * head
    layer = 2 * q + 2 * kv + 3 * hidden * c["intermediate_size"] // members + 2 * hidden
    assert parameters(made) == 2 * c["vocab_size"] * hidden // members + layers * layer + hidden
    # after the table, and in every layer after o and down
    assert graph_demand(made).network_bytes == (1 + 2 * layers) * hidden * BF16_BYTES


def test_one_member_communicates_nothing() -> None:
    made = workload("llama-3.1-8b")
    assert graph_demand(made).network_bytes == 0
    assert all(node.kind != "all_reduce" for _, node in made.nodes())


def test_what_members_hold_alike_is_told_apart_from_what_is_divided() -> None:
    whole, part = (workload("llama-3.1-8b", members=members) for members in (1, 16))
    held = dict(copies(whole, part, 16))
    # 8 KV heads among 16: two of them have the same one; norms are whole on each; all else is divided.
    assert {name for name, count in held.items() if count == 2} == {"w_k", "w_v", "k_cache", "v_cache"}
    assert {name for name, count in held.items() if count == 16} == {"attention_gain", "ffn_gain", "final_gain"}
    assert set(held.values()) == {1, 2, 16}
    assert set(dict(copies(whole, workload("llama-3.1-8b", members=8), 8)).values()) == {1, 8}

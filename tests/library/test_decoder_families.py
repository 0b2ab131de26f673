"""Model families: what each family's graph has of its own, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from math import prod
from typing import Any

import numpy as np
import pytest

from patterns.architecture import architectures
from patterns.checkpoint.stored import stored_parts
from patterns.count import parameters
from patterns.errors import SpecError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.importers.huggingface import config_draft, config_graph
from patterns.library import workload

Config = dict[str, Any]


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


def test_layers_that_see_all_in_turn_with_layers_that_see_a_window() -> None:
    """Gemma 2: 21 pairs. The run reads 4096 tokens in one layer of a pair, and all in the other."""
    made = workload("gemma-2-9b", context=8192)
    (pair,) = (block for block in made.blocks if block.name == "decoder")
    assert pair.count == 21
    assert (made.shape("k_cache_1"), made.shape("k_cache_2")) == ((1, 4096, 8, 256), (1, 8192, 8, 256))
    assert (written_by(made, "sliding_window"), written_by(made, "causal")) == (["masked_1"], ["masked_2"])
    assert [node.argument("by", 0) for _, node in made.nodes() if node.name == "logits_capped"] == [30.0]


def test_a_period_that_does_not_divide_the_layers_has_a_rest() -> None:
    """Gemma 3 4B: 34 layers, of which every sixth sees all."""
    made = tiny("Gemma3ForCausalLM", num_hidden_layers=34, sliding_window=16)
    counts = {block.name: block.count for block in made.blocks}
    assert (counts["decoder_1"], counts["decoder_2"]) == (5, 1)
    assert (len(written_by(made, "causal")), len(written_by(made, "sliding_window"))) == (1, 5 + 4)
    assert {made.copies(t.name) for t in made.tensors if t.name.startswith("w_q")} == {5, 1}


def test_rotary_positions_of_a_part_of_a_head() -> None:
    made = tiny("Phi3ForCausalLM", partial_rotary_factor=0.75)
    assert (made.shape("cos"), made.shape("q_rotary")) == ((1, 1, 12), (1, 1, 2, 2, 16))


def test_layers_with_tables_of_their_own_turn_the_same_part_of_a_head() -> None:
    made = tiny("Gemma3ForCausalLM", num_hidden_layers=12, sliding_window=16, partial_rotary_factor=0.5)
    tables = [made.tensor_named[name].dims for name in ("cos", "window_cos", "window_sin")]
    assert tables == [("batch", "seq", "rotary")] * 3


def test_attention_and_mlp_side_by_side() -> None:
    """Phi-2: one norm a layer, whose result both read, and 2,779,683,840 parameters."""
    shapes = {"hidden_size": 2560, "num_hidden_layers": 32, "intermediate_size": 10240, "vocab_size": 51200}
    heads = {"num_attention_heads": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.4}
    changes = {**shapes, **heads, "hidden_act": "gelu_new"}
    made = tiny("PhiForCausalLM", **changes)
    layer = 4 * (2560 * 2560 + 2560) + 2 * 2560 * 10240 + 10240 + 2560 + 2 * 2560
    assert parameters(made) == 2 * 51200 * 2560 + 51200 + 32 * layer + 2 * 2560 == 2_779_683_840
    assert set(made.readers("attention_in")) == {"q", "k", "v", "up"}


def test_the_text_part_of_a_model_of_several_is_read() -> None:
    text = {**TINY, "model_type": "gemma3_text", "num_hidden_layers": 6, "sliding_window": 8}
    config = {"architectures": ["Gemma3ForConditionalGeneration"], "text_config": text, "vision_config": {"a": 1}}
    draft = config_draft(json.dumps(config), "config.json", "several")
    assert "only the text part is read" in draft.data["source"]
    assert draft.graph().sizes["hidden"] == 64


def test_a_text_part_leaves_out_what_is_usual_and_what_the_whole_says() -> None:
    """As LLaVA 1.5 has it: a Vicuna of 7 B whose table has 64 rows more."""
    text = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 32064}
    config = {"architectures": ["LlavaForConditionalGeneration"], "text_config": text, "torch_dtype": "float16"}
    made = config_graph(json.dumps(config), "config.json", "several")
    assert parameters(made) == 6_738_415_616 + 2 * 64 * 4096
    assert made.tensor_named["w_q"].dtype == "fp16"
    with pytest.raises(SpecError, match="quantization_config"):
        config_graph(json.dumps({**config, "quantization_config": {"quant_method": "eetq"}}), "config.json", "several")


def test_a_model_type_does_where_no_architecture_is_named() -> None:
    config = json.dumps({"model_type": "qwen3", **TINY})
    assert config_graph(config, "config.json", "tiny") == tiny("Qwen3ForCausalLM")


def test_experts_come_after_dense_layers() -> None:
    """DeepSeek-V3: 3 dense layers, then 58; a token's cache is 576 values of 2 bytes in each of 61 layers."""
    made = workload("deepseek-v3")
    assert [(block.name, block.count) for block in made.blocks[1:3]] == [("decoder_1", 3), ("decoder_2", 58)]
    caches = [t.name for t in made.tensors if t.role == "state"]
    assert sum(made.elements(name) * made.copies(name) for name in caches) * 2 == 4096 * 70_272


EXPERTS: dict[str, Any] = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 20}
LATENT: dict[str, Any] = {
    "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "n_routed_experts": 8,
    "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 20, "topk_group": 2, "n_group": 4,
}  # fmt: skip
MANY = [("full_attention", "sliding_attention")[at * at % 11 % 2] for at in range(900)]


def test_another_number_of_layers_is_more_or_fewer_of_those_that_repeat() -> None:
    def counts(name: str, layers: int) -> list[int]:
        return [block.count for block in workload(name, overrides={"layers": layers}).blocks[1:-1]]

    assert (counts("deepseek-v3", 10), counts("gemma-2-9b", 6), counts("mistral-7b", 5)) == ([3, 7], [3], [5])
    with pytest.raises(SpecError, match=r"3\.5, not a whole number"):
        counts("gemma-2-9b", 7)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("Gemma2ForCausalLM", {"hidden_activation": "relu"}, "hidden_activation: gelu_pytorch_tanh is due"),
    ("Phi3ForCausalLM", {"hidden_act": "gelu"}, "hidden_act: activation 'gelu' is not supported here; supported: silu"),
    ("Qwen2ForCausalLM", {"use_sliding_window": True}, "sliding_window does not say how long it is"),
    ("Gemma2ForCausalLM", {"layer_types": ["full_attention"]}, "layer_types: 1 layers are listed, and num_hidden_la"),
    ("Gemma2ForCausalLM", {"num_hidden_layers": 900, "layer_types": MANY}, "in no order that repeats: more than 100"),
    ("Gemma2ForCausalLM", {"num_hidden_layers": 10**18}, "num_hidden_layers: .*less than or equal to 10000"),
    ("Gemma2ForCausalLM", {"layer_types": ["chunked"] * 4}, "layer_types.0: one of sliding_attention, full_attention"),
    ("MixtralForCausalLM", {"num_local_experts": 2, "num_experts_per_tok": 3}, "3 experts a token, and there are 2"),
    ("Qwen3MoeForCausalLM", {"num_experts_per_tok": 1, "moe_intermediate_size": 4}, "missing key 'num_experts'"),
    ("PhiForCausalLM", {"hidden_act": "gelu_new", "qk_layernorm": True}, "qk_layernorm: not supported here"),
    ("DeepseekV3ForCausalLM", {**LATENT, "n_group": 3}, "n_group: 3 groups do not divide 8 experts"),
    ("DeepseekV3ForCausalLM", {**LATENT, "topk_group": 5}, "topk_group: 5 of 4 groups of 2 experts are chosen"),
    ("DeepseekV3ForCausalLM", {**LATENT, "first_k_dense_replace": 4}, "first_k_dense_replace: no layer has experts"),
    ("MambaForCausalLM", {}, "intermediate_size: 96 is not expand x hidden_size, which is 128"),
    ("MambaForCausalLM", {"intermediate_size": None, "use_bias": True}, "use_bias: not supported here"),
    ("Phi3ForCausalLM", {"partial_rotary_factor": 1.5}, "24 of 16 dims of a head cannot be turned"),
    ("MptForCausalLM", {}, "architecture MptForCausalLM is not supported; supported: Deepseek"),
]


@pytest.mark.parametrize(("architecture", "changes", "message"), REFUSED)
def test_what_a_graph_could_not_say_is_refused(architecture: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        tiny(architecture, **changes)


def test_all_wrong_fields_of_a_text_part_are_told_where_they_are() -> None:
    config = {"text_config": {"model_type": "mistral", **TINY, "hidden_size": "64", "vocab_size": 0}}
    with pytest.raises(SpecError) as error:
        config_graph(json.dumps(config, indent=1), "config.json", "tiny")
    told = [(mistake.line, mistake.path) for mistake in error.value.mistakes]
    assert told == [(4, "text_config.hidden_size"), (9, "text_config.vocab_size")]


CHANGES: dict[str, dict[str, Any]] = {
    "LlamaForCausalLM": {"attention_bias": True, "mlp_bias": True},
    "Qwen2ForCausalLM": {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2},
    "Gemma3ForCausalLM": {"num_hidden_layers": 15, "sliding_window": 16},
    "PhiForCausalLM": {"hidden_act": "gelu_new"},
    "MixtralForCausalLM": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "Qwen2MoeForCausalLM": {**EXPERTS, "shared_expert_intermediate_size": 32},
    "Qwen3MoeForCausalLM": {**EXPERTS, "norm_topk_prob": True},
    "MambaForCausalLM": {"intermediate_size": None, "tie_word_embeddings": False},
    "DeepseekV2ForCausalLM": LATENT,
    "DeepseekV3ForCausalLM": {**LATENT, "q_lora_rank": 24, "first_k_dense_replace": 1},
}


@pytest.mark.parametrize("name", [architecture.ARCHITECTURES[0] for architecture in architectures()])
def test_checkpoints_hold_every_weight_of_every_layer_once(name: str) -> None:
    graph = tiny(name, **CHANGES.get(name, {}))
    table = next(a.STORED for a in architectures() if name in a.ARCHITECTURES)
    held = list(stored_parts(graph, table))
    assert sum(prod(piece.shape) for piece in held) == parameters(graph)
    of_layers = Counter(piece.layer for piece in held if piece.weight.block)
    assert sorted(of_layers) == list(range(graph.sizes["layers"]))
    assert len(set(of_layers.values())) == (2 if name == "DeepseekV3ForCausalLM" else 1)
    assert len({(piece.name, piece.weight.name) for piece in held}) == len(held)


def test_weights_of_four_bits_are_what_is_multiplied() -> None:
    """(number - zero) x scale, in groups along what is summed, gives the graph of the widened weights."""
    changes = {"hidden_size": 32, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8}}
    sizes = {"context": "3", "seq": "context"}
    narrow = config_graph(json.dumps({**TINY, "model_type": "llama", **changes}), "c.json", "a", overrides=sizes)
    wide = config_graph(json.dumps({**TINY, "model_type": "llama", "hidden_size": 32}), "c.json", "a", overrides=sizes)
    arrays = random_arrays(narrow, 1)
    widened = dict(arrays)
    for name in [name for name in arrays if f"{name}_scales" in arrays]:
        dims = narrow.tensor_named[name].dims
        at = 1 + next(i for i, dim in enumerate(dims) if dim.endswith("_within"))
        zeros, scales = (np.expand_dims(widened.pop(f"{name}_{part}"), at) for part in ("zeros", "scales"))
        shape = (4, *wide.shape(name))
        widened[name] = ((arrays[name] - zeros) * scales).reshape(shape)
    logits = [evaluate(g, a, also=("logits",))["logits"] for g, a in ((narrow, arrays), (wide, widened))]
    np.testing.assert_allclose(logits[0], logits[1], rtol=1e-9)


def test_experts_of_four_bits_are_refused() -> None:
    changes = {**CHANGES["MixtralForCausalLM"], "quantization_config": {"quant_method": "awq", "group_size": 16}}
    with pytest.raises(SpecError, match="quantization_config: w_down is read by others than products: experts"):
        tiny("MixtralForCausalLM", **changes)


def test_a_name_is_of_one_architecture() -> None:
    # Which of them is looked at first then makes no difference.
    for names in ("ARCHITECTURES", "MODEL_TYPES"):
        every = [name for architecture in architectures() for name in getattr(architecture, names)]
        assert len(every) == len(set(every)), names

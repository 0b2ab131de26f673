"""Model configurations: what they become, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from patterns.errors import SpecError, UserError
from patterns.importers.huggingface import config_graph
from patterns.library import workload

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "vocab_size": 128,
    "bos_token_id": None,
    "rope_scaling": {"factor": 8.0},
}


def text(**changes: Any) -> str:
    """The config with fields replaced; None takes a field out."""
    return json.dumps({key: value for key, value in {**CONFIG, **changes}.items() if value is not None}, indent=1)


def test_a_config_becomes_a_graph() -> None:
    made = config_graph(text(rms_norm_eps=3e-6, torch_dtype="float16"), "config.json", "tiny")
    assert made.name == "tiny"
    assert {key: made.sizes[key] for key in ("layers", "head_dim", "kv_heads", "group", "ffn", "vocabulary")} == {
        "layers": 3, "head_dim": 8, "kv_heads": 2, "group": 4, "ffn": 96, "vocabulary": 128}  # fmt: skip
    assert {tensor.dtype for tensor in made.tensors} == {"fp16", "int32"}
    assert {node.argument("eps", 0) for _, node in made.nodes() if node.fn == "rsqrt"} == {3e-6}


def test_defaults_are_those_of_the_format() -> None:
    made = config_graph(text(num_key_value_heads=None), "config.json", "tiny")
    assert (made.sizes["kv_heads"], made.sizes["group"]) == (8, 1)
    assert made.tensor_named["w_q"].dtype == "bf16"


def test_a_head_dim_of_its_own_counts() -> None:
    assert config_graph(text(head_dim=20), "config.json", "tiny").shape("w_q") == (64, 2, 4, 20)


def test_a_tied_head_is_the_table() -> None:
    made = config_graph(text(tie_word_embeddings=True), "config.json", "tiny")
    assert "head" not in made.tensor_named
    assert made.readers("embedding") == ("embedded", "logits")


@pytest.mark.parametrize(
    ("folder", "file", "name"),
    [
        ("tiny-llama", "config.json", "tiny-llama"),
        (".", "a.json", "a"),
        ("my model", "config.json", "my-model"),
        ("7b", "config.json", "model-7b"),
        (".", "é.json", "model--"),
    ],
)
def test_a_model_is_named_after_its_file(tmp_path: Path, folder: str, file: str, name: str) -> None:
    path = tmp_path / folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text())
    assert workload(str(path), context=8).name == name


def test_tabs_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(text().replace("\n ", "\n\t"), encoding="utf-8-sig")
    assert workload(str(path), context=8).sizes["hidden"] == 64


WRONG = [
    (text(architectures=["MptForCausalLM"]),
     r"config.json:\d+:\d+: architectures: architecture MptForCausalLM is not supported; supported: .*Llama"),
    (text(architectures=None), r"config.json:1:1: architectures: 'architectures' names no model; supported: .*Llama"),
    (text(hidden_size=None), r"config.json:1:1: missing key 'hidden_size'"),
    (text(hidden_size=0), r"config.json:5:\d+: hidden_size: .*greater than 0.*0"),
    (text(hidden_size=-4), r"hidden_size: .*greater than 0"),
    (text(hidden_size=64.5), r"hidden_size: a whole number is due, found the number 64.5"),
    (text(hidden_size="64"), r"hidden_size: a whole number is due, found the text '64'"),
    (text(hidden_size=True), r"hidden_size: a whole number is due, found true"),
    (text(num_key_value_heads=3), r"num_key_value_heads: 3 KV heads do not divide 8 attention heads"),
    (text(num_attention_heads=6), r"num_attention_heads: 6 heads do not divide hidden_size 64"),
    (text(head_dim=7), r"head_dim: rotary positions turn pairs, and head_dim 7 is odd"),
    (text(torch_dtype="float8"), r"torch_dtype: element type 'float8' is not supported; supported: bfloat16"),
    (text(attention_bias="yes"), r"attention_bias: true or false is due, found the text 'yes'"),
    (text(hidden_act="gelu"), r"hidden_act: activation 'gelu' is not supported here; supported: silu"),
    (text(quantization_config={"bits": 4}), r"quantization_config: missing key 'quant_method'"),
    (text(quantization_config={"quant_method": "bitsandbytes"}), r"method 'bitsandbytes' is not .*awq, gptq, fp8"),
    (text(quantization_config={"quant_method": "gptq", "bits": 8}), r"_config.bits: 4 is due, found the number 8"),
    (text(quantization_config={"quant_method": "awq"}), r"quantization_config: groups of 128 do not divide hidden 64"),
    ("{", r"config.json:1:2: not JSON: "),
    ('{"a": 1,\n "b" 2}', r"config.json:2:6: not JSON: "),
    ("[]", r"config.json:1:1: a model's config is a JSON object"),
    (text(hidden_size=float("nan")), r"config.json:5:\d+: hidden_size: a whole number is due, found the text 'NaN'"),
    (text(hidden_size=10**4299).replace("0" * 4299, "0" * 9000),
     r"config.json:5:\d+: hidden_size: a whole number is due, found the text '10{50}"),
    ('{"a": 1,\n "a": 2}', r"config.json:2:2: a: repeated key 'a', on lines 1 and 2; keep one"),
    ('\t{"a": 1,\n"a": 2}', r"config.json:1:1: repeated key 'a'; keep one"),
    ("[" * 100_000, r"nested too deep to be read"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_a_wrong_config_is_refused(wrong: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        config_graph(wrong, "config.json", "tiny")


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(SpecError) as error:
        config_graph(text(hidden_size=0, vocab_size="x", intermediate_size=None), "config.json", "tiny")
    assert [mistake.path for mistake in error.value.mistakes] == ["", "hidden_size", "vocab_size"]


@pytest.mark.parametrize(
    ("members", "changes", "message"),
    [
        (3, {}, "3 members cannot share num_attention_heads 8 equally"),
        (2, {"intermediate_size": 95}, "2 members cannot share intermediate_size 95 equally"),
        (2, {"vocab_size": 129}, "2 members cannot share vocab_size 129 equally"),
        (2, {"num_attention_heads": 6, "num_key_value_heads": 3, "hidden_size": 96}, "num_key_value_heads 3 equally"),
    ],
)
def test_members_must_be_able_to_share(members: int, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        config_graph(text(**changes), "config.json", "tiny", members)

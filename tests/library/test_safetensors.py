"""Checkpoints: headers in every way wrong, and tensors that are not what the config beside them asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.cli import cli
from patterns.checkpoint.header import TYPE_BITS, read_header
from patterns.errors import SpecError, UserError
from patterns.library import workload

Header = dict[str, Any]
HIDDEN, FFN, LAYERS, VOCABULARY = 16, 24, 2, 32
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": FFN,
    "vocab_size": VOCABULARY,
    "torch_dtype": "bfloat16",
}


def llama() -> dict[str, list[int]]:
    """Shapes of a Llama's tensors as checkpoints name them: matrices are [outputs, inputs]."""
    shapes = {"model.embed_tokens.weight": [VOCABULARY, HIDDEN], "lm_head.weight": [VOCABULARY, HIDDEN]}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        shapes |= {
            f"{at}.self_attn.{x}_proj.weight": [n, HIDDEN] for x, n in (("q", 16), ("k", 8), ("v", 8), ("o", 16))
        }
        shapes |= {f"{at}.mlp.{x}_proj.weight": [FFN, HIDDEN] for x in ("gate", "up")}
        shapes |= {f"{at}.mlp.down_proj.weight": [HIDDEN, FFN]}
        shapes |= {f"{at}.{x}_layernorm.weight": [HIDDEN] for x in ("input", "post_attention")}
    return {**shapes, "model.norm.weight": [HIDDEN]}


def header(shapes: dict[str, list[int]], dtype: str = "BF16") -> Header:
    """A header whose tensors lie one after another."""
    made: Header = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        begin, end = end, end + prod(shape) * TYPE_BITS[dtype] // 8
        made[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    return made


def content(made: Header | bytes, data_bytes: int | None = None) -> bytes:
    """A file with this header, padded as writers do, and zeros for data."""
    text = made if isinstance(made, bytes) else json.dumps(made).encode()
    text += b" " * (-len(text) % 8)
    ends = [e["data_offsets"][1] for n, e in made.items() if n != "__metadata__"] if isinstance(made, dict) else []
    return len(text).to_bytes(8, "little") + text + bytes(max(ends, default=0) if data_bytes is None else data_bytes)


def saved(folder: Path, shapes: dict[str, list[int]], dtype: str = "BF16", **config: Any) -> Path:
    """A checkpoint with a config beside it."""
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    file = folder / "model.safetensors"
    file.write_bytes(content(header(shapes, dtype)))
    return file


def test_a_checkpoint_that_is_as_its_config_asks_for(tmp_path: Path) -> None:
    """Tied heads may be there all the same, and so may tables that can be computed."""
    assert workload(str(saved(tmp_path, llama()))) == workload(str(tmp_path / "config.json"))
    extra = {**llama(), "model.layers.0.self_attn.rotary_emb.inv_freq": [2]}
    file = saved(tmp_path, extra, tie_word_embeddings=True)
    printed = CliRunner().invoke(cli, ["check", str(file)], catch_exceptions=False).stdout
    elements = 2 * VOCABULARY * HIDDEN + LAYERS * (3 * 16 * 16 + 3 * 16 * 24 + 2 * 16) + HIDDEN + 2
    assert f"22 of BF16, {elements:,} elements, {2 * elements:,} bytes" in " ".join(printed.split())


def test_all_tensors_that_are_not_so_are_told_at_once(tmp_path: Path) -> None:
    shapes = llama()
    del shapes["model.layers.1.mlp.up_proj.weight"]
    shapes |= {"model.layers.0.self_attn.k_proj.weight": [16, 16], "model.layers.2.input_layernorm.weight": [16]}
    with pytest.raises(SpecError) as error:
        workload(str(saved(tmp_path, shapes)))
    assert [(m.path, m.message) for m in error.value.mistakes] == [
        ("model.layers.0.self_attn.k_proj.weight", "has shape [16, 16], and the config asks for [8, 16]"),
        ("model.layers.1.mlp.up_proj.weight", "is missing: bf16 [24, 16]"),
        ("model.layers.2.input_layernorm.weight", "is not of this model: BF16 [16]"),
    ]


def test_quantised_models_are_not_checked(tmp_path: Path) -> None:
    assert workload(str(saved(tmp_path, llama(), quantization_config=None)))
    with pytest.raises(UserError, match=r"21 of BF16.*; tensors of quantised models are not checked"):
        workload(str(saved(tmp_path, llama(), quantization_config={"quant_method": "awq"})))


def test_another_type_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"model.norm.weight: is F16, and the config asks for bf16"):
        workload(str(saved(tmp_path, llama(), "F16")))


def test_of_many_mistakes_some_are_told_and_the_others_counted(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"and 25 more") as error:
        workload(str(saved(tmp_path, llama(), num_hidden_layers=7)))
    assert len(error.value.mistakes) == 21


def test_fused_matrices_lie_one_after_another(tmp_path: Path) -> None:
    """Phi-3 has q, k and v in one tensor, and gate and up in another."""
    shapes = {name: shape for name, shape in llama().items() if "self_attn" not in name and "mlp" not in name}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        shapes |= {f"{at}.self_attn.qkv_proj.weight": [32, 16], f"{at}.self_attn.o_proj.weight": [16, 16]}
        shapes |= {f"{at}.mlp.gate_up_proj.weight": [48, 16], f"{at}.mlp.down_proj.weight": [16, 24]}
    made = workload(str(saved(tmp_path, shapes, architectures=["Phi3ForCausalLM"])))
    assert made.sizes["layers"] == LAYERS


def shards(folder: Path, parts: Iterable[dict[str, list[int]]], **named: str) -> Path:
    """A checkpoint in several files with its index; `named` changes where the index says a tensor is."""
    (folder / "config.json").write_text(json.dumps(CONFIG))
    weight_map: dict[str, str] = {}
    for number, part in enumerate(parts):
        file = f"model-0000{number + 1}-of-00002.safetensors"
        (folder / file).write_bytes(content(header(part)))
        weight_map |= dict.fromkeys(part, file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": {**weight_map, **named}}))
    return index


def halves() -> list[dict[str, list[int]]]:
    entries = list(llama().items())
    return [dict(entries[:9]), dict(entries[9:])]


def test_an_index_brings_its_files_together(tmp_path: Path) -> None:
    index = shards(tmp_path, halves())
    assert workload(str(index)).sizes["layers"] == LAYERS
    with pytest.raises(UserError, match=r"is one of several files of a checkpoint; .*check .*index.json"):
        workload(str(tmp_path / "model-00001-of-00002.safetensors"))


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"a": "model-00001-of-00002.safetensors"}, r"a: is not in model-00001-of-00002.safetensors"),
        ({"a": "other.safetensors"}, r"its file 'other.safetensors' is not there"),
        ({"a": "../model.safetensors"}, r"its file '../model.safetensors' is not there"),
        ({"model.norm.weight": "model-00001-of-00002.safetensors"}, r"model.norm.weight: is not in model-00001"),
    ],
)
def test_a_wrong_index_is_refused(tmp_path: Path, named: dict[str, str], message: str) -> None:
    (tmp_path.parent / "model.safetensors").write_bytes(content(header({"a": [1]})))
    with pytest.raises(SpecError, match=message):
        workload(str(shards(tmp_path, halves(), **named)))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": 1}}', "[" * 9999])
def test_what_is_no_index_is_refused(tmp_path: Path, text: str) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(text)
    with pytest.raises(SpecError, match="an index is a JSON object of at most"):
        workload(str(index))


def test_a_checkpoint_without_a_config_tells_what_it_has(tmp_path: Path) -> None:
    saved(tmp_path, llama())
    (tmp_path / "config.json").unlink()
    with pytest.raises(UserError, match=r"tensors: 21 of BF16, .*; there is no config.json beside it"):
        workload(str(tmp_path / "model.safetensors"))


def entry(**changes: Any) -> bytes:
    return content({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}, 8)


WRONG: list[tuple[bytes, str]] = [
    (b"", "0 bytes are too few for a safetensors file"),
    (b"PK\x03\x04" + bytes(90), "truncated: its header has 67,324,752 bytes, and the file has 86"),
    ((10**9).to_bytes(8, "little"), "its header would have 1,000,000,000 bytes, and 100,000,000 are the most"),
    ((10**6).to_bytes(8, "little") + b"{}", "truncated: its header has 1,000,000 bytes, and the file has 2"),
    (content(b"{'a'}"), "its header is not JSON: .* at byte 1"),
    (content(b"[]"), "its header is not a JSON object"),
    (content(b"\xff{}"), "its header is not UTF-8"),
    (content(b"[" * 50_000), "nested too deep"),
    (content(b'{"a": 1, "a": 2}'), "its header has 'a' twice"),
    (content(b'{"a": ' + b"9" * 500 + b"}"), "a number of 500 digits"),
    (content(b'{"a": {"dtype": "F32"}}'), "a: a tensor has dtype, shape and data_offsets"),
    (entry(dtype="F33"), "a: dtype 'F33' is none of"),
    (entry(dtype=["F32"]), "a: dtype \\['F32'\\] is none of"),
    (entry(shape=[-2]), "shape \\[-2\\] is not a list of whole numbers"),
    (entry(shape=[True]), "shape \\[True\\] is not a list of whole numbers"),
    (entry(shape=[3]), "F32 \\[3\\] takes 12 bytes, and its offsets hold 8"),
    (entry(data_offsets=[8, 0]), "data_offsets \\[8, 0\\] are not where"),
    (entry(shape=[2**40, 2**40]), "takes .* bytes, and its offsets hold 8"),
    (content(header({"a": [4]}), 7), "truncated: its tensors have 8 bytes, and the file has 7 of them"),
    (content(header({"a": [4]}), 9), "1 bytes after its last tensor belong to none"),
    (content({"a": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}), "2 bytes before it belong to no tensor"),
    (
        content({n: {"dtype": "U8", "shape": [4], "data_offsets": [b, b + 4]} for n, b in (("a", 0), ("b", 3))}),
        "b: overlaps the tensor before it by 1 bytes",
    ),
]


@pytest.mark.parametrize(("made", "message"), WRONG)
def test_a_wrong_header_is_refused(tmp_path: Path, made: bytes, message: str) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(made)
    with pytest.raises(SpecError, match=message):
        read_header(file)


def test_types_of_less_than_a_byte_and_tensors_without_elements(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    shapes = {"a": ([3, 2], "F4", 3), "b": ([0, 5], "F32", 0), "c": ([], "U8", 1)}
    end, made = 0, {}
    for name, (shape, dtype, num_bytes) in shapes.items():
        made[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + num_bytes]}
        end += num_bytes
    file.write_bytes(content(made))
    assert [(tensor.name, tensor.elements) for tensor in read_header(file)] == [("a", 6), ("b", 0), ("c", 1)]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_change_of_a_byte_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    made = bytearray(content(header({"a": [2, 3], "b": [4]})))
    for _ in range(data.draw(st.integers(1, 3))):
        made[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.mktemp("fuzz") / "model.safetensors"
    file.write_bytes(made[: data.draw(st.integers(0, len(made)))])
    with suppress(UserError):
        assert all(tensor.begin <= tensor.end for tensor in read_header(file))


def test_a_tensor_that_an_index_names_twice_is_told(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "one.safetensors", "a": "other.safetensors"}}')
    with pytest.raises(SpecError, match="'a' is there twice"):
        workload(str(index))

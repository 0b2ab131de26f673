"""A model whose matrices are held in fp8, as DeepSeek-V3's published config says."""

from __future__ import annotations

import json
from typing import Any

from patterns.count import compulsory, parameter_bytes
from patterns.importers.huggingface import config_graph
from patterns.library import CONFIGS
from patterns.plugin import data_file
from patterns.read import parse_graph
from patterns.write import write_graph

FP8 = {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]}


def deepseek_v3(**fields: Any) -> Any:
    config = json.loads(data_file(CONFIGS, "deepseek-v3", ".json", "config").read_text())
    return config_graph(json.dumps({**config, **fields}), "config.json", "deepseek-v3")


def test_matrices_of_layers_are_a_byte_each_and_the_rest_stays_wide() -> None:
    graph = deepseek_v3(quantization_config=FP8)
    table_and_head = 2 * 129_280 * 7_168
    # Two norms of a layer, those of the two latents, the last one; the router's biases, which are fp32.
    vectors, biases = 61 * (2 * 7_168 + 1_536 + 512) + 7_168, 58 * 256
    assert parameter_bytes(graph) == 671_026_419_200 + table_and_head + vectors + 3 * biases
    assert parameter_bytes(deepseek_v3()) == 2 * 671_026_419_200 + 2 * biases
    assert compulsory(graph).total_bytes < 0.52 * compulsory(deepseek_v3()).total_bytes
    assert graph.tensor_named["embedding"].dtype == "bf16"


def test_the_written_graph_reads_back() -> None:
    graph = deepseek_v3(quantization_config=FP8, num_hidden_layers=5)
    assert parse_graph(write_graph(graph)) == graph

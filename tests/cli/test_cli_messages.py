"""What a user's mistake says: one message on stderr, exit status 2, nothing on stdout, no file left behind."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.__main__ import run

ROOT = Path(__file__).parents[2]
CASES = {
    "unknown_workload": "compare llama-3.1-8",
    "missing_file": "compare graphs/mine.yaml",
    "folder": "compare folder",
    "unsupported_architecture": "compare gpt2.json",
    "graph_with_mistakes": "check wrong.yaml",
    "unknown_gpu": "compare softmax --gpu h100",
    "unknown_rdu": "compare softmax --rdu sn40",
    "unknown_policy": "compare softmax --policy libary",
    "unknown_mode": "compare softmax --mode loop",
    "unknown_schedule": "compare gemm --schedule multi_stage",
    "unknown_launch": "compare softmax --launch persitent",
    "gpus_0": "compare llama-3.1-8b --gpus 0",
    "sockets_0": "compare llama-3.1-8b --sockets 0",
    "sockets_that_do_not_divide": "compare llama-3.1-8b --sockets 3",
    "sockets_of_a_graph_without_members": "compare softmax --sockets 2",
    "batch_0": "compare llama-3.1-8b --batch 0",
    "context_0": "compare llama-3.1-8b --context 0",
    "context_negative": "compare llama-3.1-8b --context -5",
    "context_no_number": "compare llama-3.1-8b --context 4k",
    "set_without_value": "compare softmax --set rows",
    "set_unknown": "compare softmax --set row=8",
    "set_unknown_place": "compare softmax --set cpu.clock_hz=1",
    "set_unknown_in_place": "compare softmax --set gpu.hbm_byte_per_s='1 TB/s'",
    "set_twice": "compare softmax --set rows=8 --set graph.rows=9",
    "set_by_two_options": "compare llama-3.1-8b --context 8 --set context=9",
    "set_members": "compare llama-3.1-8b --set tensor_parallel=2",
    "phase_of_a_graph_without_seq": "compare softmax --phase prefill",
    "batch_of_a_graph_without_batch": "compare softmax --batch 4",
    "set_in_two_places": "compare softmax --set hbm_bytes_per_s='1 TB/s'",
    "set_zero": "compare softmax --set rows=0",
    "set_without_unit": "compare softmax --set gpu.hbm_bytes_per_s=3",
    "json_and_csv": "compare softmax --json --csv",
    "plot_below_a_file": "compare softmax --plot wrong.yaml/plots",
    "plot_is_a_file": "plot softmax -o wrong.yaml",
    "trace_is_a_folder": "compare softmax --trace folder",
    "trace_in_no_folder": "compare softmax --trace nowhere/trace.json",
    "unknown_plot": "plot softmax --kind fusions",
    "unknown_command": "comparison softmax",
    "unknown_section": "list machine",
    "unknown_machine": "show softmax --machine h100_sxn",
    "no_section": "compare softmax --rdu sn40l --set rdu.pmus=1",
    "too_large_for_the_memory": "compare llama-3.1-405b",
    "unknown_call": "show softmax --machine h100_sxm expp",
    "machine_of_both_families": "show softmax --machine unit",
    "two_machines": "show softmax --gpu unit --rdu unit",
    "call_without_machine": "show softmax e",
    "stage_unknown": "show softmax --rdu sn40l --stage tilling",
    "stage_with_an_unknown_placement": "show softmax --rdu sn40l --stage place --placement ful",
    "stage_of_a_gpu": "show softmax --gpu h100_sxm --stage tiling",
    "stage_without_machine": "show softmax --stage tiling",
    "stage_with_a_drawing": "show softmax --rdu sn40l --stage tiling --cells 40",
    "stage_of_an_unknown_call": "show llama-3.1-8b --rdu sn40l --stage tiling decodr",
    "gpu_options_on_an_rdu": "show softmax --rdu sn40l --launch graph --stages 3 --option tile_m=64",
    "rdu_options_on_a_gpu": "show softmax --machine h100_sxm --seed 3",
    "mapping_without_machine": "show softmax --orchestration software",
    "section_without_floorplan": "plot softmax --section softmax",
    "floorplan_of_two_modes": "plot softmax --kind floorplan --mode fused --mode looped",
    "floorplan_of_a_gpu": "plot softmax --kind floorplan --policy library",
    "floorplan_with_a_launch": "plot softmax --kind floorplan --launch graph",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a wrong graph, a model that is not supported, and a folder."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "gpt2.json").write_text(json.dumps({"architectures": ["GPT2LMHeadModel"], "n_layer": 12}))
    (tmp_path / "wrong.yaml").write_text(
        "name: wrong\nextents: {rows: 1e5}\ntensors:\n  x: {dims: [row], dtype: bf16, role: input}\n"
        "nodes:\n  y: {kind: mapp, fn: exp, reads: [x]}\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_says_what_would_be_right(
    case: str, folder: Path, capfd: pytest.CaptureFixture[str], golden: Callable[[str, str], None]
) -> None:
    before = sorted(folder.rglob("*"))
    status = run(shlex.split(CASES[case]))
    out, err = capfd.readouterr()
    assert (status, out) == (2, "")
    assert "Traceback" not in err
    assert sorted(folder.rglob("*")) == before
    golden(f"cli/messages/{case}.txt", f"$ patternloom {CASES[case]}\n{err.replace(f'{ROOT}/', '')}")

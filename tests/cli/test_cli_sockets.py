"""Many sockets on the command line: what cannot be shared, what several hold alike, sums that are separate."""

from __future__ import annotations

from click.testing import CliRunner, Result

from experiments.cli import cli


def compare(*words: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *words])


def told(*words: str) -> str:
    result = compare("llama-3.1-8b", "--policy", "library", "--mode", "fused", "--context", "128", *words)
    assert result.exit_code == 0, result.stderr
    return " ".join(result.stdout.split())


def test_sockets_that_cannot_share_a_model_are_refused_with_numbers_that_can() -> None:
    result = compare("llama-3.1-8b", "--sockets", "3")
    assert result.exit_code == 2
    assert "3 members cannot share num_attention_heads 32 equally; 1, 2, 4, 8, 16, 32 can" in result.stderr
    result = compare("softmax", "--sockets", "2")
    assert "softmax has no extent 'tensor_parallel': 2 members cannot share it" in result.stderr


def test_more_sockets_than_kv_heads_hold_some_alike_and_it_is_said() -> None:
    said = "w_k, w_v, k_cache, v_cache have fewer parts than there are members of 16 x sn40l: each part is held"
    assert said in told("--sockets", "16")
    assert "fewer parts" not in told("--sockets", "8")
    # As many parts as the user says there are.
    assert "fewer parts" not in told("--sockets", "16", "--set", "model_kv_heads=16")


def test_separate_sums_are_calls() -> None:
    assert " sn40l fused 1 2 34 " in told("--sockets", "8")
    assert " sn40l fused 4 4 132 " in told("--sockets", "8", "--collectives", "separate")

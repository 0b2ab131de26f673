"""Errors of fp8 attention, on few tokens: what helps, and by about how much, is as published."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.studies import fp8_attention_error as study
from patterns.evaluate import evaluate
from patterns.numbers.rounding import every_result


def test_a_hadamard_matrix_is_orthogonal_and_of_two_values() -> None:
    turned = study.hadamard(16)
    np.testing.assert_allclose(turned @ turned.T, np.eye(16), atol=1e-12)
    assert set(np.unique(np.abs(turned))) == {0.25}


def test_outliers_are_few_and_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.1 % of 131,072 elements, of which most are beyond 5."""
    monkeypatch.setattr(study, "HEADS", 1)
    large = np.abs(study.inputs("fp16")["q"]) > 5
    assert 40 < large.sum() < 140


def test_the_rotation_takes_error_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few tokens less than published: probabilities are greater, so that plain fp8 loses fewer of them."""
    for name, value in {"HEADS": 2, "TOKENS": 256, "HEAD_DIM": 64, "BLOCK": 64}.items():
        monkeypatch.setattr(study, name, value)
    arrays, methods = study.inputs("fp16"), {method.name: method for method in study.methods()}
    exact = evaluate(study.attention("fp32"), arrays)["y"]

    def error(name: str) -> float:
        method = methods[f"fp8, {name}"]
        done = evaluate(study.graph_of(method), study.given_to(method, arrays), rounding=every_result)["y"]
        return float(np.sqrt(((done.reshape(exact.shape) - exact) ** 2).mean()))

    plain, rotated = error("plain"), error("block scales, rotated")
    assert 1.25 < plain / rotated < 4
    assert rotated < 0.02

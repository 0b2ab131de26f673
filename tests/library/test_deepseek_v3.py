"""DeepSeek-V3: its published size, what a step reads, and its router's choices by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gpu_model import load_machine, lower
from patterns.count import compulsory, graph_demand, parameters
from patterns.errors import DoesNotFit
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.numbers.execute import execute
from rdu_model import load_machine as load_rdu
from rdu_model import lower as lower_rdu

# Sections 4.2 and 2.1 of arXiv 2412.19437.
LAYERS, DENSE, HIDDEN, FFN, VOCABULARY = 61, 3, 7168, 18432, 129_280
EXPERTS, CHOSEN, EXPERT_FFN, LATENT = 256, 8, 2048, 576
EXPERT = 3 * HIDDEN * EXPERT_FFN
Q, KV = 1536, 512
PROJECTIONS = HIDDEN * Q + HIDDEN * LATENT + Q * 128 * 192 + KV * 128 * 256 + 128 * 128 * HIDDEN
LAYER = PROJECTIONS + Q + KV + 2 * HIDDEN
ROUTER = HIDDEN * EXPERTS + EXPERTS


def model_of(experts: int) -> int:
    """Parameters with so many routed experts a layer, beside the shared one."""
    sparse = (LAYERS - DENSE) * (ROUTER + (experts + 1) * EXPERT)
    return LAYERS * LAYER + DENSE * 3 * HIDDEN * FFN + sparse + 2 * VOCABULARY * HIDDEN + HIDDEN


def test_it_has_the_published_parameters() -> None:
    """671 billion in all; 37 billion are active, of the embedding one row."""
    assert parameters(workload("deepseek_v3")) == model_of(EXPERTS) == 671_026_419_200
    active = model_of(CHOSEN) - VOCABULARY * HIDDEN
    assert round(model_of(EXPERTS) / 1e9) == 671
    assert round(active / 1e9) == 37


@pytest.mark.parametrize("batch", [1, 32])
def test_a_step_reads_the_experts_that_are_expected(batch: int) -> None:
    made = workload("deepseek_v3", batch=batch)
    found = EXPERTS * (1 - Fraction(EXPERTS - CHOSEN, EXPERTS) ** batch)
    moved = compulsory(made)
    rows = (LAYERS - DENSE) * found * EXPERT * 2 + batch * HIDDEN * 2
    assert abs(moved.gathered_bytes - rows) <= (LAYERS - DENSE) * 3
    attention = 2 * 128 * 4096 * (LATENT + KV)
    products = LAYERS * PROJECTIONS + DENSE * 3 * HIDDEN * FFN + VOCABULARY * HIDDEN
    products += (LAYERS - DENSE) * (HIDDEN * EXPERTS + (CHOSEN + 1) * EXPERT)
    assert graph_demand(made).matrix_flops == batch * (2 * products + LAYERS * attention)
    assert moved.state_bytes == batch * LAYERS * 4096 * LATENT * 2


def test_one_gpu_says_how_many_would_hold_it() -> None:
    with pytest.raises(DoesNotFit, match="at least 17 GPUs would hold it"):
        lower(workload("deepseek_v3"), load_machine("h100_sxm"))


SMALL = {
    "batch": 3,
    "context": 7,
    "layers": 2,
    "dense_layers": 1,
    "hidden": 16,
    "model_heads": 2,
    "q_rank": 6,
    "rank": 8,
    "nope": 6,
    "rope": 4,
    "value": 5,
    "model_ffn": 12,
    "experts": 12,
    "expert_groups": 4,
    "kept_groups": 2,
    "chosen_experts": 3,
    "model_expert_ffn": 6,
    "model_vocabulary": 14,
}


def test_experts_are_chosen_within_the_best_groups() -> None:
    made = workload("deepseek_v3", overrides=SMALL)
    arrays = random_arrays(made, 0) | {"group_numbers": np.arange(4)}
    arrays["router_bias"] = np.random.default_rng(1).normal(size=arrays["router_bias"].shape)
    found = evaluate(made, arrays, also=["router", "chosen", "share"])
    for token in range(3):
        affinity = 1 / (1 + np.exp(-found["router"][token, 0]))
        biased = affinity + arrays["router_bias"][-1]
        groups = sorted(range(4), key=lambda g: -sum(sorted(biased[g])[-2:]))[:2]
        ranked = sorted((-biased[g, e], 3 * g + e) for g in groups for e in range(3))
        chosen = [expert for _, expert in ranked][:3]
        assert found["chosen"][token, 0].tolist() == chosen
        shares = affinity.ravel()[chosen]
        np.testing.assert_allclose(found["share"][token, 0], 2.5 * shares / shares.sum())


def test_lowered_it_gives_the_same_numbers() -> None:
    made = workload("deepseek_v3", overrides=SMALL)
    arrays = random_arrays(made, 0) | {"group_numbers": np.arange(4)}
    expected = evaluate(made, arrays)
    h100, sn40l = load_machine("h100_sxm"), load_rdu("sn40l")
    for plan in (lower(made, h100), lower_rdu(made, sn40l, mode="fused")):
        for name, array in execute(plan, arrays).items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-8, atol=1e-10, err_msg=plan.mode)

"""Multi-head latent attention: one latent vector a token, and the numbers of heads with their own keys and values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_model import load_machine, lower
from patterns.count import compulsory, graph_demand
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.numbers.execute import execute
from rdu_model import load_machine as load_rdu
from rdu_model import lower as lower_rdu

SMALL = {"batch": 2, "context": 7, "hidden": 24, "model_heads": 4, "q_rank": 10, "rank": 8, "nope": 6, "rope": 4}
Arrays = dict[str, NDArray[np.float64]]


def test_a_token_is_one_latent_vector_stored_once() -> None:
    """61 layers of 512 values and 64 rotary ones, 2 bytes each; not twice, and not of 128 heads."""
    short, long = (compulsory(workload("mla_decode", context=context)).state_bytes for context in (4096, 5096))
    assert (long - short) * 61 == 1000 * 61 * (512 + 64) * 2 == 1000 * 70_272


def test_parameters_and_work_of_a_layer() -> None:
    down = 7168 * 1536 + 7168 * (512 + 64)
    up = 1536 * 128 * (128 + 64) + 512 * 128 * (128 + 128) + 128 * 128 * 7168
    graph = workload("mla_decode")
    assert compulsory(graph).weight_bytes == 2 * (down + up + 1536 + 512) == 2 * 187_107_328
    assert graph_demand(graph).matrix_flops == 2 * (down + up) + 2 * 128 * 4096 * (576 + 512)


def normed(x: NDArray[np.float64], gain: NDArray[np.float64]) -> NDArray[np.float64]:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gain


def turned(x: NDArray[np.float64], cos: NDArray[np.float64], sin: NDArray[np.float64]) -> NDArray[np.float64]:
    return x * cos + np.roll(x, x.shape[-1] // 2, -1) * sin


def with_keys_and_values(a: Arrays) -> NDArray[np.float64]:
    """The paper's form: keys and values of every head are made of the latent vectors."""
    q_in = normed(a["attention_in"] @ a["w_q_down"], a["q_gain"])
    q = np.einsum("bsr,rhn->bshn", q_in, a["w_q"])
    q_rope = turned(np.einsum("bsr,rhn->bshn", q_in, a["w_q_rope"]), a["cos"][:, :, None], a["sin"][:, :, None])
    cache = a["cache"].copy()
    kv = normed(a["attention_in"] @ a["w_kv_down"], a["kv_gain"])
    k_rope = turned(a["attention_in"] @ a["w_k_rope"], a["cos"], a["sin"])
    for b in range(len(cache)):
        cache[b, a["positions"][b].astype(int)] = np.concatenate([kv, k_rope], -1)[b]
    c, r = cache[..., :8], cache[..., 8:]
    keys = np.concatenate([np.einsum("btc,hnc->bthn", c, a["w_k_up"]), np.repeat(r[:, :, None], 4, 2)], -1)
    scores = np.einsum("bshd,bthd->bsht", np.concatenate([q, q_rope], -1), keys) / np.sqrt(6 + 4)
    seen = a["slots"] <= a["positions"][..., None]
    weights = np.where(seen[:, :, None], np.exp(scores), 0)
    weights /= weights.sum(-1, keepdims=True)
    values = np.einsum("btc,hcv->bthv", c, a["w_v_up"])
    heads = np.einsum("bsht,bthv->bshv", weights, values)
    return np.einsum("bshv,hvd->bsd", heads, a["w_o"])


def test_absorbed_matrices_give_the_numbers_of_keys_and_values() -> None:
    graph = workload("mla_decode", overrides={**SMALL, "value": 5})
    last = np.full((2, 1), 6)
    arrays = {**random_arrays(graph, 3), "positions": last, "slots": np.arange(7)}
    expected = with_keys_and_values(arrays)
    made = [evaluate(graph, arrays), execute(lower(graph, load_machine("h100_sxm")), arrays)]
    made.append(execute(lower_rdu(graph, load_rdu("sn40l"), mode="fused"), arrays))
    for result in made:
        np.testing.assert_allclose(result["o_sum"], expected, rtol=1e-9, atol=1e-9)

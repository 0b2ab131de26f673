"""What fp8 costs attention in accuracy, and what block scales and a random Hadamard rotation give back.

Each row runs a graph through a machine's own calls and tiles, rounded where that machine rounds, and compares it with
the same attention in float64. Inputs are normal numbers of which 0.1 % have an outlier of ten times the spread added.
Published: Shah et al., FlashAttention-3, arXiv 2407.08608, section 3.3: 2.6 times less error than plain fp8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.plot.bars import Bars
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from patterns.graph import Graph

GPU, RDU = "h100_sxm", "sn40l"
HEADS, TOKENS, HEAD_DIM, BLOCK = 2, 1024, 128, 128
OUTLIERS, OUTLIER_SPREAD = 0.001, 10.0
SEED = 0
MILLION = 1e6
# The published error of the plain fp8 attention over that of FlashAttention-3's.
PUBLISHED_RATIO = 2.6

ATTENTION = """
name: attention_{dtype}
extents: {{heads: {heads}, queries: {tokens}, keys: {tokens}, head_dim: {head_dim}}}
tensors:
  q: {{dims: [heads, queries, head_dim], dtype: {dtype}, role: input}}
  k: {{dims: [heads, keys, head_dim], dtype: {dtype}, role: input}}
  v: {{dims: [heads, keys, head_dim], dtype: {dtype}, role: input}}
  y: {{dims: [heads, queries, head_dim], dtype: {dtype}, role: output}}
nodes:
  scores:        {{kind: mm,     reads: [q, k], over: [head_dim]}}
  scaled:        {{kind: map,    fn: scale, reads: [scores], inverse_root: head_dim}}
  top:           {{kind: reduce, fn: max,   reads: [scaled], over: [keys]}}
  shifted:       {{kind: zip,    fn: sub,   reads: [scaled, top]}}
  e:             {{kind: map,    fn: exp,   reads: [shifted]}}
  total:         {{kind: reduce, fn: sum,   reads: [e], over: [keys]}}
  probabilities: {{kind: zip,    fn: div,   reads: [e, total]}}
  y:             {{kind: mm,     reads: [probabilities, v], over: [keys]}}
"""
# A scale for each head of each operand; probabilities are divided by their sum before they become fp8.
PLAIN_FP8 = """
name: plain_fp8_attention
extents: {{heads: {heads}, queries: {tokens}, keys: {tokens}, head_dim: {head_dim}}}
tensors:
  q:      {{dims: [heads, queries, head_dim], dtype: fp16, role: input}}
  k:      {{dims: [heads, keys, head_dim], dtype: fp16, role: input}}
  v:      {{dims: [heads, keys, head_dim], dtype: fp16, role: input}}
  scores: {{dims: [heads, queries, keys], dtype: fp32, role: intermediate}}
  sums:   {{dims: [heads, queries, head_dim], dtype: fp32, role: intermediate}}
  y:      {{dims: [heads, queries, head_dim], dtype: fp16, role: output}}
nodes:
{quantised}
  scores:        {{kind: mm,     reads: [q_small, k_small], over: [head_dim]}}
  by_q:          {{kind: zip,    fn: mul,   reads: [scores, q_scale]}}
  by_k:          {{kind: zip,    fn: mul,   reads: [by_q, k_scale]}}
  scaled:        {{kind: map,    fn: scale, reads: [by_k], inverse_root: head_dim}}
  top:           {{kind: reduce, fn: max,   reads: [scaled], over: [keys]}}
  shifted:       {{kind: zip,    fn: sub,   reads: [scaled, top]}}
  e:             {{kind: map,    fn: exp,   reads: [shifted]}}
  total:         {{kind: reduce, fn: sum,   reads: [e], over: [keys]}}
  probabilities: {{kind: zip,    fn: div,   reads: [e, total]}}
  weights:       {{kind: map,    fn: cast,  reads: [probabilities], dtype: fp8_e4m3}}
  sums:          {{kind: mm,     reads: [weights, v_small], over: [keys]}}
  by_v:          {{kind: zip,    fn: mul,   reads: [sums, v_scale]}}
  y:             {{kind: map,    fn: cast,  reads: [by_v], dtype: fp16}}
"""
QUANTISED = """
  {x}_full:  {{kind: map,    fn: cast,  reads: [{x}], dtype: fp32}}
  {x}_sizes: {{kind: map,    fn: abs,   reads: [{x}_full]}}
  {x}_top:   {{kind: reduce, fn: max,   reads: [{x}_sizes], over: [{rows}, head_dim]}}
  {x}_scale: {{kind: map,    fn: scale, reads: [{x}_top], by: 0.002232142857142857}}
  {x}_ratio: {{kind: zip,    fn: div,   reads: [{x}_full, {x}_scale]}}
  {x}_small: {{kind: map,    fn: cast,  reads: [{x}_ratio], dtype: fp8_e4m3}}
"""

Arrays = Mapping[str, "NDArray[Any]"]


@dataclass(frozen=True)
class Method:
    """One row. dtype: of the inputs. scale_rows: rows of an fp8 operand that share a scale, 0 for plain fp8, None
    without fp8. fused: as one kernel or section, or every node by itself.
    """

    name: str
    dtype: str
    scale_rows: int | None = None
    rotated: bool = False
    fused: bool = True


def methods() -> list[Method]:
    """Every row, from the plainest."""
    return [
        Method("fp16, every result stored", "fp16", fused=False),
        Method("fp16, fused", "fp16"),
        Method("bf16, every result stored", "bf16", fused=False),
        Method("bf16, fused", "bf16"),
        Method("fp8, plain", "fp16", 0, fused=False),
        Method("fp8, a scale for each head", "fp16", TOKENS),
        Method("fp8, block scales", "fp16", BLOCK),
        Method("fp8, a scale for each head, rotated", "fp16", TOKENS, True),
        Method("fp8, block scales, rotated", "fp16", BLOCK, True),
    ]


def graph_of(method: Method) -> Graph:
    """What a method computes."""
    if method.scale_rows is None:
        return attention(method.dtype)
    return scaled_fp8(method.scale_rows) if method.scale_rows else plain_fp8()


def attention(dtype: str) -> Graph:
    """Attention whose tensors are all of a type."""
    return _parsed(ATTENTION, dtype=dtype)


def plain_fp8() -> Graph:
    """Attention in fp8 as it would be written first."""
    parts = (("q", "queries"), ("k", "keys"), ("v", "keys"))
    return _parsed(PLAIN_FP8, quantised="".join(QUANTISED.format(x=x, rows=rows) for x, rows in parts))


def _parsed(text: str, **words: str) -> Graph:
    from patterns.read import parse_graph

    return parse_graph(text.format(heads=HEADS, tokens=TOKENS, head_dim=HEAD_DIM, **words))


def scaled_fp8(rows: int) -> Graph:
    """Attention in fp8 with a scale for so many rows."""
    from patterns.library import workload

    sizes = {"heads": HEADS, "queries": TOKENS, "keys": TOKENS, "head_dim": HEAD_DIM}
    return workload("fp8_attention", overrides={**sizes, "query_rows": rows, "key_rows": rows})


def given_to(method: Method, arrays: Arrays) -> Arrays:
    """The inputs as the method's graph reads them."""
    import numpy

    rows = method.scale_rows
    if not rows:
        return arrays
    cut = {name: array.reshape(HEADS, TOKENS // rows, rows, HEAD_DIM) for name, array in arrays.items()}
    return cut | {"rotation": hadamard(HEAD_DIM) if method.rotated else numpy.eye(HEAD_DIM)}


def hadamard(extent: int) -> NDArray[Any]:
    """An orthogonal matrix of +-1 / sqrt(extent), a power of two: Sylvester's, with random signs of its rows."""
    import numpy

    made = numpy.ones((1, 1))
    while len(made) < extent:
        made = numpy.block([[made, made], [made, -made]])
    signs = numpy.random.default_rng(SEED).choice([-1.0, 1.0], extent)
    turned: NDArray[Any] = made * signs[:, None] / extent**0.5
    return turned


def inputs(dtype: str) -> Arrays:
    """Normal numbers with outliers, rounded to a type."""
    import numpy

    from patterns.numbers.rounding import rounded

    random = numpy.random.default_rng(SEED)
    return {name: rounded(_with_outliers(random), dtype).astype(float) for name in "qkv"}


def _with_outliers(random: np.random.Generator) -> NDArray[Any]:
    shape = (HEADS, TOKENS, HEAD_DIM)
    outliers = OUTLIER_SPREAD * random.normal(size=shape) * (random.random(shape) < OUTLIERS)
    numbers: NDArray[Any] = random.normal(size=shape) + outliers
    return numbers


def record(method: Method) -> Record:
    """A method's root mean square error on each machine."""
    gpu, rdu = errors(method)
    return {
        "attention": method.name,
        "gpu_rmse_millionths": MILLION * gpu,
        "rdu_rmse_millionths": MILLION * rdu,
    }


def errors(method: Method) -> tuple[float, float]:
    """Of a method on the GPU and on the RDU."""
    import gpu_model
    import rdu_model
    from patterns.evaluate import evaluate
    from patterns.numbers.execute import execute

    arrays, graph = inputs(method.dtype), graph_of(method)
    exact = evaluate(attention("fp32"), arrays)["y"]
    plans = (
        gpu_model.lower(graph, gpu_model.load_machine(GPU), policy="library" if method.fused else "pattern"),
        rdu_model.lower(graph, rdu_model.load_machine(RDU), mode="fused" if method.fused else "unfused"),
    )
    given, rules = given_to(method, arrays), (gpu_model.rounded_results, rdu_model.rounded_results)
    done = [execute(plan, given, rounding=rule)["y"] for plan, rule in zip(plans, rules, strict=True)]
    gpu, rdu = (float(((array.reshape(exact.shape) - exact) ** 2).mean() ** 0.5) for array in done)
    return gpu, rdu


def finding(rows: Sequence[Record]) -> str:
    """How far fp8 is from fp16, and what the remedies give back together."""
    gpu = {row["attention"]: row["gpu_rmse_millionths"] for row in rows}
    both = gpu["fp8, block scales, rotated"]
    return (
        f"On the {GPU} fp8 attention with block scales and a random Hadamard rotation of queries and keys has"
        f" {gpu['fp8, plain'] / both:.2f} times less error than plain fp8 (published: {PUBLISHED_RATIO}), and"
        f" {both / gpu['fp16, fused']:.0f} times more than fp16."
    )


def details(rows: Sequence[Record]) -> str:
    """What of it each remedy gives back, and what each machine rounds."""
    gpu, rdu = ({row["attention"]: row[f"{one}_rmse_millionths"] for row in rows} for one in ("gpu", "rdu"))
    plain, scaled = (gpu[f"fp8, {name}"] for name in ("plain", "a scale for each head"))
    on_gpu, on_rdu = (one["fp16, every result stored"] / one["fp16, fused"] for one in (gpu, rdu))
    return (
        "Of the first factor, probabilities that become fp8 before the division by their sum, 256 times greater, are"
        f" {plain / scaled:.2f}, the rotation is {scaled / gpu['fp8, a scale for each head, rotated']:.2f}, and block"
        f" scales are {scaled / gpu['fp8, block scales']:.2f}: the relative error of a float hardly depends on its"
        f" scale. Fused, fp16 has {on_gpu:.2f} times less error on the GPU, which keeps in fp32 what it fuses,"
        f" {on_rdu:.2f} on the {RDU}, whose stages hand fp16 on."
    )


STUDY = Survey(
    question="What does fp8 cost attention in accuracy, and what do block scales and a Hadamard rotation give back?",
    cases=methods,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "errors",
            label="attention",
            values=("gpu_rmse_millionths", "rdu_rmse_millionths"),
            title="Root mean square error of attention",
            x_label="error, millionths",
            log=True,
        ),
    ),
)

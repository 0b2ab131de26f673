"""A small decoder as an exporter writes it: norms, rotary positions, masks and activations in their parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from tests.onnx.models import model, node, weight

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, VOCABULARY, LAYERS = 16, 4, 2, 4, 24, 32, 3
HALF = HEAD_DIM // 2


@dataclass
class Writer:
    """Nodes and weights so far."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, Any] = field(default_factory=dict)

    def add(self, op: str, reads: str, writes: str, **attributes: Any) -> str:
        """A node; the name of what it makes."""
        made = node(op, reads, writes, **attributes)
        made.name = f"/model/{writes.replace('.', '/')}/{op}"
        self.nodes.append(made)
        return writes

    def constant(self, name: str, array: Any) -> str:
        """An initial value; its name."""
        self.weights[name] = np.asarray(array)
        return name

    def norm(self, x: str, at: str) -> str:
        """A norm by the root of the mean of the squares, in its parts."""
        gain = self.constant(f"{at}.gain", 1 + weight(HIDDEN, seed=len(self.nodes)))
        square = self.add("Pow", f"{x} two", f"{at}.square")
        mean = self.add("ReduceMean", square, f"{at}.mean", axes=[-1])
        shifted = self.add("Add", f"{mean} eps", f"{at}.shifted")
        factor = self.add("Reciprocal", self.add("Sqrt", shifted, f"{at}.root"), f"{at}.factor")
        return self.add("Mul", f"{gain} {self.add('Mul', f'{x} {factor}', f'{at}.normal')}", f"{at}.scaled")

    def heads(self, x: str, at: str, heads: int) -> str:
        """A projection as [batch, heads, seq, head_dim]."""
        matrix = self.constant(f"{at}.weight", weight(HIDDEN, heads * HEAD_DIM, seed=len(self.nodes)))
        shape = self.constant(f"shape.{heads}", np.array([0, 0, heads, HEAD_DIM]))
        split = self.add("Reshape", f"{self.add('MatMul', f'{x} {matrix}', f'{at}.product')} {shape}", f"{at}.split")
        return self.add("Transpose", split, f"{at}.heads", perm=[0, 2, 1, 3])

    def rotated(self, x: str, at: str) -> str:
        """x cos + rotate_half(x) sin."""
        first = self.add("Slice", f"{x} zero half last", f"{at}.first")
        second = self.add("Slice", f"{x} half end last", f"{at}.second")
        turned = self.add("Concat", f"{self.add('Neg', second, f'{at}.neg')} {first}", f"{at}.turned", axis=-1)
        cos, sin = self.add("Mul", f"{x} cos", f"{at}.cos"), self.add("Mul", f"{turned} sin", f"{at}.sin")
        return self.add("Add", f"{cos} {sin}", f"{at}.rotated")

    def repeated(self, x: str, at: str) -> str:
        """Every KV head as often as query heads share it."""
        wide = self.add("Expand", f"{self.add('Unsqueeze', f'{x} two_', f'{at}.open')} group_shape", f"{at}.wide")
        return self.add("Reshape", f"{wide} heads_shape", f"{at}.repeated")

    def attention(self, x: str, at: str) -> str:
        """Causal attention with the scale half on the queries and half on the keys."""
        q = self.rotated(self.heads(x, f"{at}.q", HEADS), f"{at}.q")
        k = self.rotated(self.heads(x, f"{at}.k", KV_HEADS), f"{at}.k")
        v = self.repeated(self.heads(x, f"{at}.v", KV_HEADS), f"{at}.v")
        k = self.add("Transpose", self.repeated(k, f"{at}.k"), f"{at}.kt", perm=[0, 1, 3, 2])
        q, k = self.add("Mul", f"{q} root", f"{at}.qs"), self.add("Mul", f"{k} root", f"{at}.ks")
        masked = self.add("Add", f"{self.add('MatMul', f'{q} {k}', f'{at}.scores')} mask", f"{at}.masked")
        seen = self.add("MatMul", f"{self.add('Softmax', masked, f'{at}.p', axis=-1)} {v}", f"{at}.seen")
        back = self.add("Transpose", seen, f"{at}.back", perm=[0, 2, 1, 3])
        flat = self.add("Reshape", f"{back} flat", f"{at}.flat")
        out = self.constant(f"{at}.o.weight", weight(HEADS * HEAD_DIM, HIDDEN, seed=len(self.nodes)))
        return self.add("MatMul", f"{flat} {out}", f"{at}.o")

    def mlp(self, x: str, at: str) -> str:
        """down(silu(gate) up)."""
        sizes = {"gate": (HIDDEN, FFN), "up": (HIDDEN, FFN), "down": (FFN, HIDDEN)}
        w = {n: self.constant(f"{at}.{n}.weight", weight(*s, seed=len(self.nodes))) for n, s in sizes.items()}
        gate = self.add("MatMul", f"{x} {w['gate']}", f"{at}.gate")
        silu = self.add("Mul", f"{self.add('Sigmoid', gate, f'{at}.sigmoid')} {gate}", f"{at}.act")
        up = self.add("MatMul", f"{x} {w['up']}", f"{at}.up")
        return self.add("MatMul", f"{self.add('Mul', f'{silu} {up}', f'{at}.gated')} {w['down']}", f"{at}.down")


def decoder() -> onnx.ModelProto:
    """A decoder of three layers over [batch, seq] tokens, whose shapes are computed from its input."""
    made = Writer()
    for name, value in {
        "two": np.float32(2), "eps": np.float32(1e-5), "root": np.float32(HEAD_DIM**-0.25), "one": np.array([1]),
        "low": np.float32(-3e38), "zero": np.array([0]), "half": np.array([HALF]), "end": np.array([HEAD_DIM]),
        "last": np.array([-1]), "two_": np.array([2]), "flat": np.array([0, 0, -1]), "none": np.array(0),
        "step": np.array(1), "row": np.array([0, 1]), "zero_f": np.float32(0), "batch_at": np.array(0),
        "seq_at": np.array(1), "first_axis": np.array([0]), "kv": np.array([KV_HEADS]), "rep": np.array([2]),
        "hd": np.array([HEAD_DIM]), "all": np.array([HEADS]),
    }.items():  # fmt: skip
        made.constant(name, value)
    _shapes(made)
    embedding = made.constant("embed.weight", weight(VOCABULARY, HIDDEN))
    x = made.add("Gather", f"{embedding} tokens", "embed")
    for layer in range(LAYERS):
        x = _layer(made, x, f"layers.{layer}")
    head = made.add("Transpose", embedding, "tied", perm=[1, 0])
    made.add("MatMul", f"{made.norm(x, 'norm')} {head}", "logits")
    shapes = {"tokens": ["batch", "seq"]}
    return model(made.nodes, shapes, {"logits": ["batch", "seq", VOCABULARY]}, made.weights, 17, ["tokens"])  # type: ignore[arg-type]


def _layer(made: Writer, x: str, at: str) -> str:
    seen = made.attention(made.norm(x, f"{at}.norm_1"), f"{at}.attention")
    x = made.add("Add", f"{x} {seen}", f"{at}.middle")
    return made.add("Add", f"{x} {made.mlp(made.norm(x, f'{at}.norm_2'), f'{at}.mlp')}", f"{at}.out")


def _shapes(made: Writer) -> None:
    """Extents, positions, tables of angles and the mask, all from the shape of the tokens."""
    made.add("Shape", "tokens", "shape")
    for name, at in (("b", "batch_at"), ("s", "seq_at")):
        made.add("Unsqueeze", f"{made.add('Gather', f'shape {at}', f'{name}0')} first_axis", name)
    made.add("Concat", "b kv rep s hd", "group_shape", axis=0)
    made.add("Concat", "b all s hd", "heads_shape", axis=0)
    made.add("Range", "none s0 step", "positions")
    made.add("Cast", "positions", "places", to=1)
    made.constant("frequency", np.float32([[1.0, 0.3]]))
    angles = made.add("MatMul", f"{made.add('Unsqueeze', 'places one', 'column')} frequency", "angles")
    both = made.add("Concat", f"{angles} {angles}", "both", axis=-1)
    made.add("Cos", both, "cos")
    made.add("Sin", both, "sin")
    made.add("Unsqueeze", "positions first_axis", "keys")
    made.add("Unsqueeze", "positions one", "queries")
    made.add("Where", f"{made.add('LessOrEqual', 'keys queries', 'seen')} zero_f low", "mask")

"""Weights of 4 bits in groups along what a product sums, each group with a scale and a zero (AWQ, GPTQ).

What is multiplied is the model's own type: (number - zero) x scale. Products of layers are so, table and head are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from patterns.graph_file.draft import Data, Draft, written_nodes

BITS = 4
WIDENED = """
${w}_numbers: {kind: map, fn: cast, reads: [${w}], dtype: ${dtype}}
${w}_zero:    {kind: map, fn: cast, reads: [${w}_zeros], dtype: ${dtype}}
${w}_centred: {kind: zip, fn: sub,  reads: [${w}_numbers, ${w}_zero]}
${w}_values:  {kind: zip, fn: mul,  reads: [${w}_centred, ${w}_scales]}
"""
SPLIT = "${x}_${dim}: {kind: buffer, fn: split, reads: [${x}], along: ${dim}, to: ${dim}_groups ${dim}_within}"


def with_int4(draft: Draft, group: int, dtype: str) -> Draft:
    """The draft with weights of 4 bits where products of layers read them, and `dtype` besides."""
    for block, found in draft.data["blocks"].items():
        for node, weight in _products(found):
            draft = _narrowed(draft, block, node, weight, group, dtype)
    return draft


def refusals(draft: Draft, group: int, sizes: Mapping[str, int]) -> Iterator[str]:
    """Why a draft's weights cannot be of 4 bits in groups of so many."""
    for found in draft.data["blocks"].values():
        matrices = {
            name for name, t in found.get("tensors", {}).items() if t["role"] == "weight" and len(t["dims"]) > 1
        }
        products = dict(_products(found))
        for weight in sorted(matrices - set(products.values())):
            yield f"{weight} is read by others than products: experts and recurrences of 4 bits are not supported here"
        for node in products:
            dim = found["nodes"][node]["over"][-1]
            if sizes[dim] % group:
                yield f"groups of {group} do not divide {dim} {sizes[dim]}, which {node} sums"


def _products(block: Data) -> Iterator[tuple[str, str]]:
    """(node, weight) of the block's products that read a weight of its own."""
    weights = {name for name, tensor in block.get("tensors", {}).items() if tensor["role"] == "weight"}
    for name, node in block["nodes"].items():
        if node["kind"] == "mm" and node["reads"][1] in weights:
            yield name, node["reads"][1]


def _narrowed(draft: Draft, block: str, node: str, weight: str, group: int, dtype: str) -> Draft:
    data = draft.data["blocks"][block]
    fields: dict[str, Any] = data["nodes"][node]
    x, over = fields["reads"][0], fields["over"]
    dim = over[-1]
    groups, within = f"{dim}_groups", f"{dim}_within"
    dims = [part for d in data["tensors"][weight]["dims"] for part in ((groups, within) if d == dim else (d,))]
    outer = [d for d in dims if d != within]
    tensors = {
        weight: {"dims": dims, "dtype": f"int{BITS}", "role": "weight"},
        f"{weight}_scales": {"dims": outer, "dtype": dtype, "role": "weight"},
        f"{weight}_zeros": {"dims": outer, "dtype": f"int{BITS}", "role": "weight"},
    }
    split = f"{x}_{dim}"
    before = {} if split in data["nodes"] else written_nodes(SPLIT, x=x, dim=dim)
    before |= written_nodes(WIDENED, w=weight, dtype=dtype)
    product = {**fields, "reads": [split, f"{weight}_values"], "over": [*over[:-1], groups, within]}
    extents: dict[str, int | str] = {within: group, groups: f"{dim} / {within}"}
    made = draft.extents(**extents).block_tensors(block, tensors)
    return made.instead_nodes((node,), {**before, node: product})

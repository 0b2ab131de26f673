"""The dims of a matrix product: its batch, rows, columns and inner."""

from __future__ import annotations

from dataclasses import dataclass

from patterns.dtypes import multiplied_dtype
from patterns.graph import Graph, Node


@dataclass(frozen=True)
class Product:
    """An mm's dims: `count` products, one for each point of `batch`, of [rows, inner] by [inner, columns]."""

    node: str
    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    inner: tuple[str, ...]
    dtype: str


def product_of(graph: Graph, node: Node) -> Product:
    """The dims of an mm, and the type that the tensor core multiplies: that of whole bytes for its operands."""
    left, right = (graph.tensor_named[name] for name in node.reads[:2])
    out = graph.tensor_named[node.writes].dims
    return Product(
        node.name,
        batch=tuple(dim for dim in out if dim in left.dims and dim in right.dims),
        rows=tuple(dim for dim in out if dim in left.dims and dim not in right.dims),
        columns=tuple(dim for dim in out if dim in right.dims and dim not in left.dims),
        inner=node.over,
        dtype=multiplied_dtype(left.dtype, right.dtype),
    )

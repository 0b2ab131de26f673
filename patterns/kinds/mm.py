"""mm: contraction of two tensors: dims read by both and not written are summed, batch dims stay.

YAML: {kind: mm, reads: [a, b]}; `over: [..]`, or the declared result, says what is summed; with neither, exactly one
shared dim is. The result has the dims of the first operand that are left, then those that the second adds.
A multiply-add is 2 FLOPs. Operands of two types are multiplied in one of them, see dtypes.multiplied_dtype; integers
of less than 32 bits add up to int32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from patterns.axes import points, union, without
from patterns.dtypes import is_converted, multiplied_dtype, result_dtype, summed_dtype
from patterns.functions.function import Parts
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import listed, need_dim, need_reads, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"contracts"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {}


class Spec(NodeSpec):
    """An mm as written."""

    over: list[str] | None = None
    """The dims that are summed."""


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node with the dims that are summed. Raises WrongShape."""
    need_reads(node, 2, "an mm has two operands")
    left, right = operands
    shared = tuple(dim for dim in left.dims if dim in right.dims)
    if not shared:
        raise WrongShape(f"{_both(operands)} share no dim: nothing to sum")
    if node.over:
        return _checked(node, operands)
    over = without(shared, declared.dims) if declared is not None else shared
    if not over:
        raise WrongShape(f"{node.writes} has every dim that {_both(operands)} share: nothing is summed (is it a zip?)")
    if declared is None and len(over) > 1:
        raise WrongShape(f"{_both(operands)} share {listed(shared)}: write over: [..] to say which are summed")
    return replace(node, over=over)


def _checked(node: Node, operands: Sequence[Tensor]) -> Node:
    if len(set(node.over)) != len(node.over):
        raise WrongShape(f"over {listed(node.over)} names a dim twice")
    for dim in node.over:
        for tensor in operands:
            need_dim(tensor, dim, "to sum")
    return node


def _both(operands: Sequence[Tensor]) -> str:
    return " and ".join(f"{tensor.name} {listed(tensor.dims)}" for tensor in operands)


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The dims that are not summed; a declared result may have them in another order. Raises WrongShape."""
    dims = without(union(*(tensor.dims for tensor in operands)), node.over)
    if declared is not None and set(declared.dims) == set(dims):
        dims = declared.dims
    dtype = summed_dtype(result_dtype(tensor.dtype for tensor in operands))
    return written(node, dims, dtype, declared, f"{_both(operands)} summed over {listed(node.over)} give")


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """2 FLOPs for every point of all dims; a vector op for every element that must be converted to be multiplied."""
    operands = [graph.tensor_named[name] for name in node.reads]
    multiplied = multiplied_dtype(*(tensor.dtype for tensor in operands))
    converted = [tensor for tensor in operands if is_converted(tensor.dtype, multiplied)]
    return Demand(
        matrix_flops=2 * points(union(*(tensor.dims for tensor in operands)), sizes),
        vector_ops=sum(points(tensor.dims, sizes) for tensor in converted),
    )


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every element, once."""
    tensors = graph.tensor_named
    return tuple(points(tensors[name].dims, sizes) for name in node.reads), points(tensors[node.writes].dims, sizes)


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The contraction of the arrays."""
    import numpy

    letters = {dim: at for at, dim in enumerate(union(*(operand.dims for operand in operands)))}
    terms: list[Any] = [
        term for operand in operands for term in (operand.array, [letters[dim] for dim in operand.dims])
    ]
    result: NDArray[np.generic] = numpy.einsum(*terms, [letters[dim] for dim in out_dims], optimize=True)
    return result


def part(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...], first: Mapping[str, int]) -> Parts:
    """The sum over one part of the summed dims."""
    return (compute(node, operands, out_dims),)


def merge(node: Node, left: Parts, right: Parts) -> Parts:
    """The sum of two parts."""
    return (left[0] + right[0],)


def finish(node: Node, parts: Parts) -> NDArray[np.generic]:
    """The sum."""
    result: NDArray[np.generic] = parts[0]
    return result

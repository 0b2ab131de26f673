"""What all shape rules share: the tensor that a node writes, checked against its declaration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from patterns.errors import did_you_mean
from patterns.graph import Argument, Node, Tensor
from patterns.kind import WrongShape
from patterns.plural import number_of

WRITABLE = ("output", "intermediate")


def listed(dims: Sequence[str]) -> str:
    """Dims as a reader writes them: [rows, columns]."""
    return f"[{', '.join(dims)}]"


def typed(tensor: Tensor) -> str:
    """A tensor's type as a reader writes it: bf16 [rows, columns]."""
    return f"{tensor.dtype} {listed(tensor.dims)}"


def written(node: Node, dims: tuple[str, ...], dtype: str, declared: Tensor | None, rule: str) -> Tensor:
    """The tensor that a node writes: as inferred, or as declared if that has the same dims.

    A declared dtype holds: results are converted as they are stored. `rule` says in words why these are the dims.
    Raises WrongShape.
    """
    if len(set(dims)) != len(dims):
        raise WrongShape(f"{rule}: {listed(dims)} has a dim twice")
    if declared is None:
        return Tensor(node.writes, dims, dtype, "intermediate")
    if declared.role not in WRITABLE:
        raise WrongShape(f"{declared.name} is declared as {declared.role}; a node writes an output or an intermediate")
    if declared.dims != dims:
        raise WrongShape(_difference(declared, dims, rule))
    return declared


def kept(node: Node, dims: tuple[str, ...], source: Tensor, declared: Tensor | None, rule: str) -> Tensor:
    """Like `written`, for kinds that move elements as they are: the dtype is that of the source. Raises WrongShape."""
    tensor = written(node, dims, source.dtype, declared, rule)
    if tensor.dtype != source.dtype:
        raise WrongShape(
            f"{tensor.name} is declared as {tensor.dtype} and {source.name} is {source.dtype}; "
            f"elements are moved as they are (a map with fn: cast converts)"
        )
    return tensor


def _difference(declared: Tensor, dims: tuple[str, ...], rule: str) -> str:
    pairs = list(zip(declared.dims, dims, strict=False))
    at = next((i for i, (left, right) in enumerate(pairs) if left != right), len(pairs))
    same = set(declared.dims) == set(dims) and len(declared.dims) == len(dims)
    order = "; the order is another: declare that one, or move the dims with a buffer, fn: permute" if same else ""
    return (
        f"{declared.name} is declared with dims {listed(declared.dims)}, and {rule}: "
        f"{listed(dims)} (they differ at position {at}){order}"
    )


def need_reads(node: Node, count: int, what: str) -> None:
    """Raises WrongShape unless the node reads `count` tensors; `what` says which."""
    if len(node.reads) != count:
        due = f"{count} {'is' if count == 1 else 'are'} due"
        raise WrongShape(f"reads {number_of(len(node.reads), 'tensor')} where {due}: {what}")


def need_dim(tensor: Tensor, dim: str, what: str) -> None:
    """Raises WrongShape unless the tensor has the dim."""
    if dim not in tensor.dims:
        raise WrongShape(
            f"{tensor.name} has no dim {dim!r} {what}{did_you_mean(dim, tensor.dims)}; it has {listed(tensor.dims)}"
        )


def need_extent(dim: str, sizes: Mapping[str, int]) -> int:
    """The extent of a dim. Raises WrongShape if nobody declared it."""
    if dim not in sizes:
        raise WrongShape(f"dim {dim!r} has no extent{did_you_mean(dim, sizes)}")
    return sizes[dim]


def with_argument(node: Node, name: str, value: Argument) -> Node:
    """The node with one argument set."""
    return replace(node, arguments=tuple(sorted({**dict(node.arguments), name: value}.items())))


def counts(node: Node, names: Sequence[str], sizes: Mapping[str, int]) -> Node:
    """The node with these arguments as integers: text is an expression of extents. Raises WrongShape."""
    from patterns.expression import ExpressionError, evaluate

    for name in names:
        value = node.argument(name, 0)
        if isinstance(value, str):
            try:
                node = with_argument(node, name, evaluate(value, sizes))
            except ExpressionError as error:
                raise WrongShape(str(error), name, error.offset) from error
        elif isinstance(value, float):
            raise WrongShape(f"{name} is {value}: a whole number or an expression of extents is due", name)
    return node

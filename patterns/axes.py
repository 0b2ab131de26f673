"""Arrays whose axes have names: lining them up, and the shapes that follow from names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patterns.kind import Operand


def union(*dims: Iterable[str]) -> tuple[str, ...]:
    """Every dim once, in the order of first appearance."""
    return tuple(dict.fromkeys(chain.from_iterable(dims)))


def without(dims: Iterable[str], dropped: Iterable[str]) -> tuple[str, ...]:
    """The dims that are not dropped, in order."""
    gone = set(dropped)
    return tuple([dim for dim in dims if dim not in gone])


def points(dims: Iterable[str], sizes: Mapping[str, int]) -> int:
    """Points of an index space: the product of the extents."""
    return prod(map(sizes.__getitem__, dims))


def aligned(operand: Operand, dims: tuple[str, ...]) -> NDArray[Any]:
    """A view of the array with an axis for each of `dims`, in that order; of extent 1 where it has no such dim.

    Every dim of the operand must be among `dims`.
    """
    held = [dim for dim in dims if dim in operand.dims]
    array = operand.array.transpose([operand.dims.index(dim) for dim in held])
    extents = dict(zip(held, array.shape, strict=True))
    return array.reshape([extents.get(dim, 1) for dim in dims])


def axes(dims: tuple[str, ...], chosen: Iterable[str]) -> tuple[int, ...]:
    """Positions of the chosen dims."""
    return tuple(dims.index(dim) for dim in chosen)


def extents_of(operands: Iterable[Operand]) -> dict[str, int]:
    """Extent by dim of arrays (whole ones or tiles) that agree on them."""
    return {dim: size for op in operands for dim, size in zip(op.dims, op.array.shape, strict=True)}


def counted(extent: int, dim: str, dims: tuple[str, ...]) -> NDArray[Any]:
    """0, 1, 2 ... along one of `dims`, an axis of extent 1 for each other: an index that leaves the dim as it is."""
    import numpy

    return numpy.arange(extent).reshape([extent if d == dim else 1 for d in dims])

"""What an access pattern of a buffer is: one file in moves/ that has these names; nobody else knows them by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, cast

from patterns.graph import Node, Tensor
from patterns.kind import Operand, WrongShape
from patterns.plugin import load_module, modules
from patterns.shape import listed, need_extent, with_argument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Dims = tuple[str, ...]
# From and to (not included) along a dim.
Range = tuple[int, int]
# A field of a node: words, or a whole number or an expression of extents.
Words = str
Whole = int | str


class Move(Protocol):
    """The names that a file in moves/ has.

    TAKES: the fields that a node may have, with their types. NEEDS: those that it must have. JOINS: takes any number of
    operands. Fields that are `Whole` are integers by the time that anything here is called.
    """

    TAKES: Mapping[str, Any]
    NEEDS: frozenset[str]
    JOINS: bool

    def check(self, node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
        """The node with what inference adds. Raises WrongShape."""

    def dims(self, node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
        """Of the result, from those of the operands and the declared ones. Raises WrongShape."""

    def apply(self, node: Node, operands: Sequence[Operand], out_dims: Dims) -> NDArray[np.generic]:
        """The numpy meaning."""


class Reaching(Move, Protocol):
    """What access patterns have besides whose result, along its new dims, can be made tile by tile."""

    def touched(self, node: Node, own: Dims, sizes: Mapping[str, int]) -> int:
        """Elements of the operand, which has the dims `own`, that the result or a tile of it is made of."""

    def part(self, node: Node, tile: Mapping[str, Range], extent: int) -> tuple[Node, Range]:
        """The node that makes a tile of the result, and the range along its dim of the operand that it needs.

        tile: a range of each new dim. extent: the operand's along the dim. The node is made for such a part of it.
        """


@cache
def moves() -> Mapping[str, Move]:
    """Every access pattern there is, by name."""
    return {
        name: cast(Move, load_module("patterns.moves", name, "access pattern")) for name in modules("patterns.moves")
    }


def move_of(node: Node) -> Move:
    """The access pattern of a node that moves elements."""
    return moves()[node.fn]


def reaching(node: Node) -> Reaching | None:
    """The access pattern of a node that moves elements, if its result can be made tile by tile along its new dims."""
    move = move_of(node)
    return cast(Reaching, move) if hasattr(move, "part") else None


def words(node: Node, name: str) -> Dims:
    """The words of a field."""
    return tuple(str(node.argument(name, "")).split())


def one_new(node: Node) -> str:
    """The one dim in `to`. Raises WrongShape."""
    names = words(node, "to")
    if len(names) != 1:
        raise WrongShape(f"to must be one dim, is {node.argument('to', '')!r}")
    return names[0]


def in_place_of(dims: Dims, old: str, new: Dims) -> Dims:
    """The dims with one of them replaced."""
    at = dims.index(old)
    return (*dims[:at], *new, *dims[at + 1 :])


def with_extents(node: Node, sizes: Mapping[str, int]) -> Node:
    """The node with the extents of the new dims as an argument: numpy needs them where the names do not tell."""
    text = " ".join(str(need_extent(dim, sizes)) for dim in words(node, "to"))
    if node.argument("extents", text) != text:
        given, to = node.argument("extents", ""), node.argument("to", "")
        raise WrongShape(f"extents are {given!r}, and those of {to!r} are {text!r}")
    return with_argument(node, "extents", text)


def need_product(whole: str, parts: Dims, sizes: Mapping[str, int]) -> None:
    """Raises WrongShape unless the extents of several dims multiply to that of the whole."""
    product = prod(need_extent(dim, sizes) for dim in parts)
    if len(parts) < 2 or product != need_extent(whole, sizes):
        raise WrongShape(f"{whole!r} has extent {sizes[whole]}, and {listed(parts)} {product}")

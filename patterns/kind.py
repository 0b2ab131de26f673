"""What a pattern kind is. A kind is one file in kinds/ that has these names; nobody else knows kinds by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from patterns.graph import Graph, Node, Tensor
from patterns.plugin import load_module, modules

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from patterns.graph_file.spec import NodeSpec

# updates: writes over part of its first read (a scatter).
Trait = Literal["elementwise", "reduces", "contracts", "indexes", "updates", "moves", "carries", "communicates"]


@dataclass(frozen=True)
class Demand:
    """Work of a node, whatever the machine. A multiply-add is 2 FLOPs."""

    matrix_flops: int = 0
    vector_ops: int = 0
    special_ops: int = 0
    network_bytes: int = 0

    def __add__(self, other: Demand) -> Demand:
        return Demand(
            self.matrix_flops + other.matrix_flops,
            self.vector_ops + other.vector_ops,
            self.special_ops + other.special_ops,
            self.network_bytes + other.network_bytes,
        )


@dataclass(frozen=True)
class Operand:
    """An array with the names of its axes. Extents may be those of a tile."""

    array: NDArray[Any]
    dims: tuple[str, ...]


class WrongShape(Exception):
    """A kind's shape rule refuses a node; the text says what would be right. The reader adds file and line.

    argument, offset: the argument of the node that is wrong, and how many characters into its text; '' for the node.
    sure: whether it is wrong whatever the extents are that have mistakes of their own.
    """

    def __init__(self, message: str, argument: str = "", offset: int = 0, *, sure: bool = False) -> None:
        self.argument, self.offset, self.sure = argument, offset, sure
        super().__init__(message)


class Kind(Protocol):
    """The names that a file in kinds/ has.

    Spec: the pydantic model of the node in YAML. TRAITS: what machines may ask. FUNCTIONS: what `fn` may be, with the
    fields that each takes; empty for a kind that has but one.
    """

    TRAITS: frozenset[Trait]
    FUNCTIONS: Mapping[str, tuple[str, ...]]
    Spec: type[NodeSpec]

    def infer(self, node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
        """The node with `over` filled in where it was left to inference. Raises WrongShape."""

    def output(self, node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
        """The tensor the node writes (role intermediate unless declared). Raises WrongShape if declared differs."""

    def demand(self, node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
        """Work of one execution with these extents (the graph's own, or a tile's)."""

    def touched(self, node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
        """Elements touched: of each read, in order, and of the written tensor (a gather reads rows, not its table)."""

    def compute(self, node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
        """The numpy meaning, on whole arrays or on a tile of each; axes of the result are `out_dims`."""


class Carrying(Kind, Protocol):
    """What kinds that carry a state along a dim have besides: a part of the dim, from where the last one ended."""

    def advance(
        self,
        node: Node,
        operands: Sequence[Operand],
        out_dims: tuple[str, ...],
        before: NDArray[np.generic] | None,
    ) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
        """The elements of a part, and the state after it. before: the state after the part before it, None for none."""

    def demand_beside(self, node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
        """Work where parts of that dim are taken side by side and put together."""


class Accumulating(Kind, Protocol):
    """What kinds that reduce or contract have besides: the result taken from parts of the dims in `over`.

    `compute` of the whole is `finish` of all parts merged.
    """

    def part(
        self, node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...], first: Mapping[str, int]
    ) -> tuple[NDArray[np.generic], ...]:
        """What is kept of one part; `first` is where the part begins in each of `over` (0 if not given)."""

    def merge(
        self, node: Node, left: tuple[NDArray[np.generic], ...], right: tuple[NDArray[np.generic], ...]
    ) -> tuple[NDArray[np.generic], ...]:
        """What is kept of two parts together; `left` comes first."""

    def finish(self, node: Node, parts: tuple[NDArray[np.generic], ...]) -> NDArray[np.generic]:
        """The result, from what was kept of all parts."""


def kind_names() -> tuple[str, ...]:
    """Every kind there is."""
    return modules("patterns.kinds")


def kind_of(node: Node) -> Kind:
    """The kind of a node. Raises UnknownName."""
    return kind_named(node.kind)


@cache
def kind_named(name: str) -> Kind:
    """The kind `name`. Raises UnknownName."""
    return cast(Kind, load_module("patterns.kinds", name, "kind"))


def remark_of(node: Node, graph: Graph) -> str:
    """What a reader should know of how a node is counted, by a `remark` of its kind's file; '' for most."""
    remark = getattr(kind_of(node), "remark", None)
    return cast(str, remark(node, graph)) if remark else ""


def has(node: Node, trait: Trait) -> bool:
    """Whether the kind of a node has a trait."""
    return trait in _traits(node.kind)


@cache
def _traits(name: str) -> frozenset[Trait]:
    """Traits of a kind: asked of every node many times."""
    return kind_named(name).TRAITS


def packs(node: Node) -> bool:
    """Whether parts of what a node reduces need of each other only how much they keep (`PACKS` in its kind's file)."""
    return bool(getattr(kind_of(node), "PACKS", False))


def worst_extents(nodes: Iterable[Node]) -> dict[str, int]:
    """Dims whose extents are expected ones, and the greatest that each may have (`worst` in its kind's file)."""
    kinds = ((node, getattr(kind_of(node), "worst", None)) for node in nodes)
    return dict(worst(node) for node, worst in kinds if worst)

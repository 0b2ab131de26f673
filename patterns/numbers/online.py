"""Partial results of a split dim, and how they become one: sums, maxima, and the online softmax.

A call that splits a dim computes each part as if it were all there is. What it makes then is one of these:

- *whole*: the same in every part. *sliced*: has the dim, and each part has its own elements of it.
- *extreme*: a maximum or minimum over the part; merged as its kind merges.
- *shifted*: x - m, m an extreme. *scaled*: exp(x - m), which is exp(m - M) too small or large, M the merged extreme;
  divided by a sum l over the part, it is L / l too large besides.
- *weighted*: sliced or scaled values summed over the dim. Merged it is the sum of the parts, each times
  exp(m - M) l / L (without m or l: times 1). A part that is wholly masked has m = -inf and weighs nothing.

So softmax over a split context, times values, becomes the merge of flash decoding, without being known by name.
Source of the rescaling: Milakov and Gimelshein, arXiv 1805.02867, equations 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal, cast

from patterns.axes import aligned
from patterns.dtypes import is_integer
from patterns.functions.of_zip import divide, subtract
from patterns.graph import Graph, Node
from patterns.kind import Accumulating, Operand, has, kind_of
from patterns.numbers.tiles import carried_dims, tiled_dims

if TYPE_CHECKING:
    from numpy.typing import NDArray

State = Literal["whole", "sliced", "extreme", "shifted", "scaled", "weighted"]


@dataclass(frozen=True)
class Partial:
    """What a part's tensor is to the whole one. extreme, total: the tensors m and l that rescale it ('' for none)."""

    state: State
    extreme: str = ""
    total: str = ""


class MergeError(Exception):
    """A node uses a partial result in a way that no merge can make good."""


WHOLE, SLICED = Partial("whole"), Partial("sliced")
PLAIN = (WHOLE, SLICED)
EXTREMES = ("max", "min")
SUMS = ("sum",)

Rule = Callable[[Node, Sequence[Partial]], Partial | None]


def partials(graph: Graph, nodes: Sequence[Node], dim: str) -> dict[str, Partial]:
    """What each tensor that the nodes make is, if they split `dim`. Raises MergeError."""
    found: dict[str, Partial] = {}
    for node in nodes:
        read = [_read_as(graph, node, name, dim, found) for name in node.reads]
        made = _made(graph, node, read, dim)
        if made is None or not _keeps_factors(graph, node, made):
            raise MergeError(f"{node.name} needs {', '.join(node.reads)} of all parts of {dim!r} at once")
        found[node.writes] = made
    return found


def why_not_split(graph: Graph, nodes: Sequence[Node], dim: str, visible: frozenset[str]) -> str:
    """Why a group of nodes cannot split `dim` and be merged afterwards; '' if it can. visible: what others read."""
    try:
        found = partials(graph, nodes, dim)
    except MergeError as error:
        return str(error)
    unfinished = sorted(name for name in visible if found[name].state in ("shifted", "scaled"))
    return f"{', '.join(unfinished)} would have to be rescaled after the merge of {dim!r}" if unfinished else ""


def _read_as(graph: Graph, node: Node, name: str, dim: str, found: Mapping[str, Partial]) -> Partial:
    made = found.get(name, WHOLE)
    if made not in PLAIN or dim not in graph.tensor_named[name].dims:
        return made
    if dim in tiled_dims(graph, node):
        return SLICED
    if made == SLICED:
        raise MergeError(f"{node.name} needs all of {dim!r} of {name}")
    return WHOLE


def _made(graph: Graph, node: Node, read: Sequence[Partial], dim: str) -> Partial | None:
    if all(partial == WHOLE for partial in read):
        return WHOLE
    if dim in carried_dims(node):
        return None
    gathers = dim in node.over
    if all(partial in PLAIN for partial in read):
        if gathers:
            return _gathered_plain(node)
        return SLICED if dim in graph.tensor_named[node.writes].dims else None
    if has(node, "contracts") or has(node, "reduces"):
        return _gathered(node, read, gathers)
    if has(node, "moves"):
        return read[0] if len(read) == 1 else None
    return _RULES.get(node.fn, _no_rule)(node, read) if has(node, "elementwise") else None


def _gathered_plain(node: Node) -> Partial | None:
    if has(node, "contracts") or node.fn in SUMS:
        return Partial("weighted")
    return Partial("extreme") if node.fn in EXTREMES else None


def _gathered(node: Node, read: Sequence[Partial], gathers: bool) -> Partial | None:
    """A sum of scaled values, over the split dim or over others."""
    factor = _one_factor(read)
    if factor is None or not (has(node, "contracts") or node.fn in SUMS):
        return None
    return Partial("weighted", factor.extreme, factor.total) if gathers else factor


def _one_factor(read: Sequence[Partial]) -> Partial | None:
    """The one operand that is not final yet, if a factor of it is one of the product with the others."""
    factors = [partial for partial in read if partial not in PLAIN]
    if len(factors) != 1 or factors[0].state not in ("scaled", "weighted"):
        return None
    # A weighted sum has left the split dim; what has it still would multiply other sums in other parts.
    return None if factors[0].state == "weighted" and SLICED in read else factors[0]


def _keeps_factors(graph: Graph, node: Node, made: Partial) -> bool:
    """Whether the result still has every dim of what rescales it."""
    dims = set(graph.tensor_named[node.writes].dims)
    return all(set(graph.tensor_named[name].dims) <= dims for name in (made.extreme, made.total) if name)


def _no_rule(node: Node, read: Sequence[Partial]) -> Partial | None:
    return None


def _subtracted(node: Node, read: Sequence[Partial]) -> Partial | None:
    plain, extreme = read
    return Partial("shifted", node.reads[1]) if plain in PLAIN and extreme.state == "extreme" else None


def _exponential(node: Node, read: Sequence[Partial]) -> Partial | None:
    return Partial("scaled", read[0].extreme) if read[0].state == "shifted" else None


def _divided(node: Node, read: Sequence[Partial]) -> Partial | None:
    above, below = read
    if below.state == "weighted" and not below.total and not above.total:
        if above == SLICED and not below.extreme:
            return Partial("scaled", "", node.reads[1])
        if above.state in ("scaled", "weighted") and above.extreme == below.extreme:
            return Partial(above.state, above.extreme, node.reads[1])
    return _one_factor(read) if below in PLAIN else None


def _proportional(node: Node, read: Sequence[Partial]) -> Partial | None:
    return _one_factor(read)


def _converted(node: Node, read: Sequence[Partial]) -> Partial | None:
    """A float stays what it is; the whole part of a partial result is not that of all."""
    return None if is_integer(str(node.argument("dtype", ""))) else _one_factor(read)


_RULES: Mapping[str, Rule] = {
    "sub": _subtracted,
    "exp": _exponential,
    "div": _divided,
    "mul": _proportional,
    "scale": _proportional,
    "neg": _proportional,
    "copy": _proportional,
    "cast": _converted,
}

# Arrays of one part, by tensor.
PartArrays = Mapping[str, "NDArray[Any]"]


def merged(graph: Graph, found: Mapping[str, Partial], name: str, parts: Sequence[PartArrays]) -> NDArray[Any]:
    """A tensor of all parts together, from what each part made of it (extreme or weighted) and of what rescales it."""
    partial = found[name]
    if partial.state == "extreme":
        writer = next(node for _, node in graph.nodes() if node.writes == name)
        kind = cast(Accumulating, kind_of(writer))
        return reduce(lambda left, right: kind.merge(writer, (left,), (right,))[0], [part[name] for part in parts])
    weights = _weights(graph, found, name, parts)
    result: NDArray[Any] = reduce(add, [part[name] * weight for part, weight in zip(parts, weights, strict=True)])
    return result


def _weights(graph: Graph, found: Mapping[str, Partial], name: str, parts: Sequence[PartArrays]) -> list[Any]:
    """What each part's sum must be multiplied with: exp(m - M) l / L."""
    import numpy

    partial, dims = found[name], graph.tensor_named[name].dims
    weights: list[Any] = [1.0] * len(parts)

    def lined_up(tensor: str, array: NDArray[Any]) -> NDArray[Any]:
        return aligned(Operand(array, graph.tensor_named[tensor].dims), dims)

    if partial.extreme:
        m = partial.extreme
        together = merged(graph, found, m, parts)
        weights = [
            w * lined_up(m, numpy.exp(subtract(numpy, part[m], together)))
            for w, part in zip(weights, parts, strict=True)
        ]
    if partial.total:
        total_name = partial.total
        total = merged(graph, found, total_name, parts)
        weights = [
            w * lined_up(total_name, divide(numpy, part[total_name], total))
            for w, part in zip(weights, parts, strict=True)
        ]
    return weights

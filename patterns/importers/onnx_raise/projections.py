"""Moves of what a projection makes, done to its weights beforehand: parts of it are projections of their own.

A projection is a product with a weight, with or without a bias. Queries, keys and values that one product makes and a
split takes apart become three products; heads that are split off a dim are dims of the weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from patterns.graph import Node, Tensor
from patterns.importers.onnx_trace.model import Constant
from patterns.importers.onnx_trace.rewrite import Change, View, rewritten
from patterns.importers.onnx_trace.sketch import Sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDER = 25


@dataclass(frozen=True)
class _Projection:
    """A product with a weight along `dim`, and the bias that is added: nodes in order, and the weights of each."""

    nodes: tuple[Node, ...]
    weights: tuple[str, ...]

    @property
    def result(self) -> str:
        return self.nodes[-1].writes


def raised(sketch: Sketch) -> Sketch:
    """The sketch with parts and splits of projections as projections."""
    return rewritten(rewritten(sketch, _parted), _divided)


def _parted(view: View, node: Node) -> Change | None:
    """A projection that only slices along one of its dims read, which together take all of it."""
    if (node.kind, node.fn) != ("buffer", "slice"):
        return None
    readers = view.readers[node.reads[0]]
    found = _projection(view, node.reads[0], node.along)
    if found is None or len(readers) < 2 or readers[0].name != node.name:
        return None
    if any((reader.fn, reader.along) != ("slice", node.along) for reader in readers):
        return None
    starts = [int(reader.argument("start", 0)) for reader in readers]
    extents = [view.sketch.sizes[str(reader.argument("to", ""))] for reader in readers]
    taken = sorted(zip(starts, extents, strict=True))
    ends = [start + extent for start, extent in taken]
    if [start for start, _ in taken] != [0, *ends[:-1]] or ends[-1] != view.sketch.sizes[node.along]:
        return None
    picked = [_picked(view, reader) for reader in readers]
    ends_with = [pick for pick in picked if pick is not None]
    if len(ends_with) < len(readers):
        ends_with = list(readers)
    put: list[Node] = []
    tensors: dict[str, Tensor] = {}
    constants: dict[str, Constant] = {}
    origins: dict[str, tuple[str, str]] = {}
    for number, (reader, start, extent) in enumerate(zip(readers, starts, extents, strict=True)):
        end = ends_with[number]
        to = () if end is not reader else (str(reader.argument("to", "")),)
        cut = partial(_cut, start=start, extent=extent if to else 0)
        nodes, made, arrays = _again(view, found, end.writes, node.along, to, cut, f"_part_{number + 1}")
        origins |= _origins(view, found, nodes, f"part_{number + 1}")
        put += nodes
        tensors |= made
        constants |= arrays
    gone = dict.fromkeys(item.name for item in (*found.nodes, *readers, *ends_with))
    return Change(tuple(gone), tuple(put), tensors, constants, origins)


def _picked(view: View, part: Node) -> Node | None:
    """The node that takes the dim of a part of extent 1 away, if nothing else reads the part."""
    to = str(part.argument("to", ""))
    readers = view.readers.get(part.writes, ())
    if view.sketch.sizes[to] != 1 or not view.only(part.writes):
        return None
    reader = readers[0]
    return reader if (reader.kind, reader.fn, reader.over) == ("reduce", "sum", (to,)) else None


def _origins(view: View, found: _Projection, nodes: Sequence[Node], what: str) -> dict[str, tuple[str, str]]:
    """Where nodes that are made again come from."""
    known = view.sketch.origins
    pairs = zip(found.nodes, nodes, strict=True)
    part = {node.writes: known[item.writes][0] for item, node in pairs if item.writes in known}
    return {name: (base, f"{what}_product" if name != nodes[-1].writes else what) for name, base in part.items()}


def _divided(view: View, node: Node) -> Change | None:
    """A projection of which only a split of one of its dims is read."""
    if (node.kind, node.fn) != ("buffer", "split") or not view.only(node.reads[0]):
        return None
    found = _projection(view, node.reads[0], node.along)
    if found is None:
        return None
    to = tuple(str(node.argument("to", "")).split())
    shape = tuple(view.sketch.sizes[dim] for dim in to)
    divide = partial(_reshaped, shape=shape)
    nodes, tensors, constants = _again(view, found, node.writes, node.along, to, divide, "_heads")
    known = view.sketch.origins
    pairs = zip(found.nodes, nodes, strict=True)
    origins = {made.writes: known[item.writes] for item, made in pairs if item.writes in known}
    return Change((*(item.name for item in found.nodes), node.name), nodes, tensors, constants, origins)


def _projection(view: View, name: str, dim: str) -> _Projection | None:
    """The projection that makes a tensor, if `dim` is one of its weight's; nobody sees what is between."""
    if view.tensor(name).role != "intermediate":
        return None
    product, bias = view.makers.get(name), None
    if product is not None and (product.kind, product.fn) == ("zip", "add"):
        bias = next((read for read in product.reads if _weight(view, read, dim)), None)
        inner = None if bias is None else view.inner(next(r for r in product.reads if r != bias), "mm")
        if bias is None or inner is None or view.tensor(bias).dims != (dim,):
            return None
        added: tuple[Node, ...] = (product,)
        product = inner
    else:
        added = ()
    if product is None or product.kind != "mm":
        return None
    left, right = product.reads
    weight = right if _weight(view, right, dim) else left
    other = left if weight == right else right
    if not _weight(view, weight, dim) or dim in view.tensor(other).dims or dim in product.over:
        return None
    return _Projection((product, *added), (weight, *([bias] if bias else [])))


def _weight(view: View, name: str, dim: str) -> bool:
    """Whether a tensor is a weight with a dim, read by one node."""
    tensor = view.tensor(name)
    return tensor.role == "weight" and dim in tensor.dims and len(view.readers[name]) == 1


def _again(
    view: View, found: _Projection, result: str, dim: str, to: tuple[str, ...], change: Any, what: str
) -> tuple[tuple[Node, ...], dict[str, Tensor], dict[str, Constant]]:
    """The projection with other dims in the place of one: its nodes, tensors and weights."""
    tensors: dict[str, Tensor] = {}
    constants: dict[str, Constant] = {}
    names: dict[str, str] = {}
    for name in found.weights:
        tensor = view.tensor(name)
        names[name] = f"{name}{what}"
        shape = tuple(view.sketch.sizes[d] for d in tensor.dims)
        dims = _replaced(tensor.dims, dim, to)
        tensors[names[name]] = replace(tensor, name=names[name], dims=dims)
        load = partial(_changed, view.sketch.constants[name], shape, tensor.dims.index(dim), change)
        new_shape = tuple(view.sketch.sizes[d] for d in dims)
        constants[names[name]] = Constant(new_shape, tensor.dtype, load, names[name])
    nodes: list[Node] = []
    for item in found.nodes:
        last = item.writes == found.result
        names[item.writes] = result if last else view.sketch.unused(f"{result}_product")
        tensor = view.tensor(item.writes)
        # A move keeps the order of dims; a product that is declared with another keeps it too.
        dims = _replaced(tensor.dims, dim, to)
        tensors[names[item.writes]] = replace(tensor, name=names[item.writes], dims=dims)
        reads = tuple(names.get(read, read) for read in item.reads)
        nodes.append(replace(item, name=names[item.writes], reads=reads, writes=names[item.writes]))
    return tuple(nodes), tensors, constants


def _replaced(dims: Sequence[str], dim: str, to: tuple[str, ...]) -> tuple[str, ...]:
    at = dims.index(dim)
    return (*dims[:at], *to, *dims[at + 1 :])


def _changed(constant: Constant, shape: tuple[int, ...], axis: int, change: Any) -> NDArray[Any]:
    changed: NDArray[Any] = change(constant.load().reshape(shape), axis)
    return changed


def _cut(array: NDArray[Any], axis: int, start: int, extent: int) -> NDArray[Any]:
    """`extent` rows along an axis, or one row without it."""
    import numpy

    return numpy.take(array, numpy.arange(start, start + extent) if extent else start, axis)


def _reshaped(array: NDArray[Any], axis: int, shape: tuple[int, ...]) -> NDArray[Any]:
    return array.reshape((*array.shape[:axis], *shape, *array.shape[axis + 1 :]))

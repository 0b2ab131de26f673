"""From a trace to a sketch: outputs as the model has them, dims and tensors with names, nodes as their kinds infer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from patterns.dtypes import DTYPE_BITS
from patterns.errors import UserError
from patterns.graph import Argument, Node, Tensor
from patterns.importers.onnx_trace.known import Step, Value
from patterns.importers.onnx_trace.model import Constant, Model
from patterns.importers.onnx_trace.name_dims import dim_names
from patterns.importers.onnx_trace.name_tensors import base, tensor_names
from patterns.importers.onnx_trace.sketch import Sketch
from patterns.importers.onnx_trace.symbols import word
from patterns.importers.onnx_trace.trace import Trace
from patterns.kind import WrongShape, kind_of


def finished(trace: Trace, model: Model) -> Sketch:
    """The sketch of a trace. Raises UserError for element types that a graph cannot have."""
    orders = _outputs(trace, model)
    _need_dtypes(trace)
    trace.steps[:] = _needed(trace)
    dims, names = dim_names(trace), tensor_names(trace)
    sizes = _sizes(trace, dims)
    tensors: dict[str, Tensor] = {}
    constants: dict[str, Constant] = {}
    used = {name for step in trace.steps for name in step.reads}
    for made in trace.made.values():
        if made.role == "input" or (made.role == "weight" and made.name in used):
            own = tuple(dims[atom] for atom in trace.atoms.resolved(made.atoms))
            tensors[names[made.name]] = Tensor(names[made.name], own, made.dtype, made.role)
            if made.constant is not None:
                constants[names[made.name]] = made.constant
    nodes: list[Node] = []
    for step in trace.steps:
        wanted = orders.get(step.writes)
        order = None if wanted is None else tuple(dims[a] for a in trace.atoms.resolved(wanted))
        nodes += _node(trace, step, dims, names, tensors, sizes, order)
    origins = {names[step.writes]: (base(step.origin), _part(step)) for step in trace.steps}
    return Sketch(tuple(nodes), tensors, constants, sizes, _copies(trace, dims), origins)


def _copies(trace: Trace, dims: Mapping[int, str]) -> dict[str, str]:
    """Dims that are other names of dims, by what they are other names of."""
    found: dict[str, str] = {}
    for copy, source in trace.copied:
        pair = [dims.get(atom, "") for axis in (copy, source) for atom in trace.atoms.resolved((axis,))]
        if len(pair) == 2 and all(pair) and pair[0] != pair[1] and pair[1] not in found:
            found.setdefault(pair[0], pair[1])
    return found


def _part(step: Step) -> str:
    """What of its operation a node is, in a word."""
    return "renamed" if step.part.startswith("by_") else word(step.part) if step.part else ""


def _sizes(trace: Trace, dims: Mapping[int, str]) -> dict[str, int]:
    """Extents, those that can be set first."""
    found = {dims[atom]: trace.atoms.size((atom,)) for atom in dims}
    first = [name for name in trace.sizes if name in found]
    return {name: found[name] for name in (*first, *(n for n in found if n not in first))}


def _outputs(trace: Trace, model: Model) -> dict[str, tuple[int, ...]]:
    """Give every output a tensor of its own with the dims that the model has; the order of each."""
    orders: dict[str, tuple[int, ...]] = {}
    for info in model.outputs:
        if info.name not in trace.values and info.name not in trace.constants:
            raise UserError(f"{model.file}: the output {info.name!r} is not made")
        trace.operation = replace(trace.operation, name=info.name, outputs=(info.name,), scope=())
        value = trace.operand(info.name)
        for at in range(len(value.axes)):
            axis = trace.axes(value)[at]
            value = trace.solid(value, axis)
            if len(axis) > 1:
                value, _ = trace.one_atom(value, at)
        made = trace.made[value.tensor]
        if made.role != "intermediate" or value.tensor in orders:
            value = trace.map("copy", value, part="copy")
            made = trace.made[value.tensor]
        renamed = trace.unused(info.name) if made.name != info.name else made.name
        _rename(trace, made.name, renamed)
        trace.values[info.name] = Value(value.axes, renamed)
        orders[renamed] = tuple(atom for axis in value.axes for atom in axis)
    return orders


def _rename(trace: Trace, old: str, new: str) -> None:
    """Call a tensor otherwise, as an output."""
    made = trace.made.pop(old)
    trace.made[new] = replace(made, name=new, role="output")
    for at, step in enumerate(trace.steps):
        reads = tuple(new if name == old else name for name in step.reads)
        trace.steps[at] = replace(step, reads=reads, writes=new if step.writes == old else step.writes)
    for name, value in trace.values.items():
        if value.tensor == old:
            trace.values[name] = Value(value.axes, new)


def _need_dtypes(trace: Trace) -> None:
    for made in trace.made.values():
        if made.dtype not in DTYPE_BITS:
            what = f"{trace.file}: {made.name!r} has elements of type {made.dtype}"
            raise UserError(f"{what}; supported: {', '.join(DTYPE_BITS)}")


def _needed(trace: Trace) -> list[Step]:
    """The steps that an output depends on."""
    wanted = {name for name, made in trace.made.items() if made.role == "output"}
    kept: list[Step] = []
    for step in reversed(trace.steps):
        if step.writes in wanted:
            wanted |= set(step.reads)
            kept.append(step)
    return kept[::-1]


def _node(
    trace: Trace,
    step: Step,
    dims: Mapping[int, str],
    names: Mapping[str, str],
    tensors: dict[str, Tensor],
    sizes: Mapping[str, int],
    order: tuple[str, ...] | None,
) -> list[Node]:
    """A node with its tensor; and another that permutes an output, where its order is not the model's."""

    def named(atoms: Sequence[int]) -> tuple[str, ...]:
        return tuple(dims[atom] for atom in trace.atoms.resolved(atoms))

    arguments: dict[str, Argument] = {
        key: " ".join(named(value)) if isinstance(value, tuple) else value for key, value in step.arguments
    }
    made = trace.made[step.writes]
    writes = names[step.writes]
    along = named((step.along,))[0] if step.along is not None else ""
    reads = tuple(names[name] for name in step.reads)
    node = Node(writes, step.kind, step.fn, reads, writes, named(step.over), along, tuple(sorted(arguments.items())))
    if order is None:
        node, tensors[writes] = inferred(node, tensors, sizes, made.dtype, named(made.atoms))
        return [node]
    node, tensor = inferred(node, tensors, sizes, made.dtype, order)
    if tensor.dims == order:
        tensors[writes] = replace(tensor, role="output")
        return [node]
    before = f"{writes}_before"
    tensors[before] = replace(tensor, name=before)
    tensors[writes] = Tensor(writes, order, tensor.dtype, "output")
    permute = Node(writes, "buffer", "permute", (before,), writes, arguments=(("order", " ".join(order)),))
    return [replace(node, name=before, writes=before), permute]


def inferred(
    node: Node, tensors: Mapping[str, Tensor], sizes: Mapping[str, int], dtype: str, dims: tuple[str, ...]
) -> tuple[Node, Tensor]:
    """A node and its tensor, as its kind has them; `dims` say the order where the kind leaves it open."""
    operands = [tensors[name] for name in node.reads]
    kind = kind_of(node)
    free = Tensor(node.writes, dims, dtype, "intermediate")
    try:
        made = kind.infer(node, operands, None, sizes)
        tensor = kind.output(made, operands, None)
        if node.over and "contracts" in kind.TRAITS:
            tensor = kind.output(made, operands, free)
    except WrongShape:
        made = kind.infer(node, operands, free, sizes)
        tensor = kind.output(made, operands, free)
    moves = "moves" in kind.TRAITS or "indexes" in kind.TRAITS
    return made, tensor if moves else replace(tensor, dtype=dtype)

"""From a model to what it does in patterns: every operation in turn, done at once or handed to its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from patterns.errors import UserError
from patterns.importers.onnx_trace.fold import FOLDS, foldable, folded
from patterns.importers.onnx_trace.known import Unsupported, Value, Wrong
from patterns.importers.onnx_trace.model import Constant, Info, Model, Operation
from patterns.importers.onnx_trace.signature import check_signature
from patterns.importers.onnx_trace.symbols import BATCH, extent, extents
from patterns.importers.onnx_trace.trace import Trace
from patterns.plugin import load_module, modules

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Handler = Callable[[Trace, Operation], "Value | tuple[Value, ...]"]
_OPS = "patterns.importers.onnx_ops"
_SHOWN = 60
# Operations of other domains that are ONNX's of the same name. (Attention of com.microsoft is not.)
_OTHER_DOMAINS: Mapping[str, frozenset[str]] = {
    "com.microsoft": frozenset({"Gelu", "LayerNormalization", "SimplifiedLayerNormalization"})
}


@cache
def operations() -> Mapping[str, Handler]:
    """What each operation becomes, from every file of the folder."""
    found: dict[str, Handler] = {}
    for name in modules(_OPS):
        found |= load_module(_OPS, name, "family of operations").OPS
    return found


def walked(model: Model, overrides: Mapping[str, str]) -> Trace:
    """The trace of a whole model. Raises UserError for what is wrong, and for all that is not supported at once."""
    fixed = fixed_batch(model)
    sizes = extents(model.inputs, overrides, model.file, fixed)
    trace = Trace(model.file, model.opset, sizes)
    trace.constants.update(model.constants)
    _inputs(trace, model, fixed)
    refused: Counter[str] = Counter()
    examples: dict[str, str] = {}
    unknown: set[str] = set()
    for operation in model.operations:
        trace.operation = operation
        reason = ""
        try:
            if unknown.isdisjoint(operation.inputs):
                _step(trace, operation)
                _check(trace, model, operation)
            else:
                reason = _absent(operation)
                unknown.update(operation.outputs)
        except Unsupported as error:
            reason = f"{_named(operation)}: {error}" if str(error) else _named(operation)
            unknown.update(operation.outputs)
        except Wrong as error:
            at = f"{model.file}: node {operation.name!r} ({operation.op})"
            raise UserError(f"{at}: {error}{_with(trace.sizes)}") from None
        if reason:
            refused[reason] += 1
            examples.setdefault(reason, operation.name)
    _refuse(model.file, refused, examples)
    return trace


def _with(sizes: Mapping[str, int]) -> str:
    """What a model was walked with, which another choice may help."""
    chosen = ", ".join(f"{name} = {extent}" for name, extent in sizes.items())
    return f" (with {chosen}; the model leaves these open: set them)" if set(sizes) - {BATCH} else ""


def _refuse(file: str, refused: Counter[str], examples: Mapping[str, str]) -> None:
    if not refused:
        return
    lines = [f"  {count} x {what} (such as node {examples[what]!r})" for what, count in refused.most_common(_SHOWN)]
    left = len(refused) - len(lines)
    lines += [f"  and {left} more"] if left > 0 else []
    raise UserError("\n".join([f"{file}: operations that are not supported:", *lines]))


def fixed_batch(model: Model) -> bool:
    """Whether every input has the extent 1 at axis 0 where a batch is: it can be set all the same."""
    wide = [info.shape for info in model.inputs if info.shape and len(info.shape) > 1]
    return bool(wide) and all(shape[0] == 1 for shape in wide)


def _inputs(trace: Trace, model: Model, fixed: bool) -> None:
    """Every input as a tensor; dims of the same name are the same, unless one input has it twice."""
    atoms: dict[str, int] = {}
    for info in model.inputs:
        if info.shape is None or not info.dtype:
            raise UserError(f"{model.file}: input {info.name!r} has no shape, or no element type")
        axes: list[tuple[int, ...]] = []
        for axis in range(len(info.shape)):
            size, name = extent(info, axis, trace.sizes, model.file)
            if fixed and axis == 0 and len(info.shape) > 1:
                size, name = trace.sizes[BATCH], BATCH
            if not name:
                axes.append((trace.atoms.new(size),) if size > 1 else ())
                continue
            known = atoms.setdefault(name, trace.atoms.new(size, name, 100))
            taken = any(known in other for other in axes)
            axes.append((trace.atoms.new(size, name, 90) if taken else known,))
        trace.values[info.name] = trace.given(info.name, tuple(axes), info.dtype, "input")
    if fixed:
        trace.batch = atoms[BATCH]


def _absent(operation: Operation) -> str:
    """Why an operation could not be done, apart from what it reads; '' if it could."""
    known = _is_onnx(operation) and (operation.op in operations() or operation.op in FOLDS)
    return "" if known or operation.op in ("Shape", "Size") else _named(operation)


def _is_onnx(operation: Operation) -> bool:
    return not operation.domain or operation.op in _OTHER_DOMAINS.get(operation.domain, ())


def _named(operation: Operation) -> str:
    return f"{operation.domain}::{operation.op}" if operation.domain else operation.op


def _step(trace: Trace, operation: Operation) -> None:
    check_signature(operation, trace.opset)
    given = [trace.constant(name) if name else None for name in operation.inputs]
    if operation.op in ("Shape", "Size") and not operation.domain:
        _store(trace, operation.outputs[:1], [_shape(trace, operation)])
        return
    known = all(constant is not None for constant, name in zip(given, operation.inputs, strict=True) if name)
    if known and foldable(operation, given):
        _store(trace, operation.outputs, folded(operation, given))
        return
    handler = operations().get(operation.op)
    if handler is None or not _is_onnx(operation):
        raise Unsupported
    if not operation.inputs or not operation.outputs:
        raise Wrong("has no inputs or no outputs")
    made = handler(trace, operation)
    values = made if isinstance(made, tuple) else (made,)
    trace.values.update(zip(operation.outputs, values, strict=False))


def _shape(trace: Trace, operation: Operation) -> NDArray[np.generic]:
    import numpy

    name = operation.inputs[0] if operation.inputs else ""
    known = trace.constant(name)
    shape = known.shape if known is not None else trace.shape(trace.operand(name))
    if operation.op == "Size":
        return numpy.asarray(numpy.prod(shape, dtype=numpy.int64))
    end = operation.attributes.get("end")
    return numpy.asarray(shape[int(operation.attribute("start", 0)) : end], numpy.int64)


def _store(trace: Trace, names: tuple[str, ...], arrays: list[NDArray[np.generic]]) -> None:
    for name, array in zip(names, arrays, strict=False):
        trace.constants[name] = Constant(
            array.shape, _DTYPES.get(array.dtype.name, "double"), partial(_itself, array), name
        )


def _itself(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return array


_DTYPES: Mapping[str, str] = {
    "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8", "uint8": "int8", "bool": "int8",
    "int16": "int32", "uint16": "int32", "int32": "int32", "int64": "int64",
}  # fmt: skip


def _check(trace: Trace, model: Model, operation: Operation) -> None:
    """Raises Wrong if the model declares another shape than its operation gives; open dims are not compared."""
    if trace.sizes.get(BATCH, 1) > 1 and trace.batch is not None:
        return
    for name in operation.outputs:
        declared, value = model.declared.get(name, Info("", "", None)), trace.values.get(name)
        if declared.shape is None or value is None:
            continue
        shape = trace.shape(value)
        if len(shape) != len(declared.shape):
            raise Wrong(f"{name!r} is declared with rank {len(declared.shape)}, and has {len(shape)}: {list(shape)}")
        for axis, (due, found) in enumerate(zip(declared.shape, shape, strict=True)):
            if isinstance(due, int) and due >= 0 and due != found:
                raise Wrong(f"{name!r} is declared as {list(declared.shape)}, and is {list(shape)} (dimension {axis})")

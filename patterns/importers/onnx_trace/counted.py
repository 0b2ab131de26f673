"""Inputs that count along a dim: the positions of a run's tokens, the slots of a cache."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from patterns.graph import Tensor
from patterns.importers.onnx_trace.model import Constant
from patterns.importers.onnx_trace.rewrite import View

if TYPE_CHECKING:
    from numpy.typing import NDArray


def counted(view: View, what: str, dim: str, start: int) -> tuple[str, dict[str, Tensor], dict[str, Constant]]:
    """An input of start, start + 1, ... along a dim: its name, and what is new if there was none."""
    name = f"{what}_{dim}" if start == 0 else f"{what}_{dim}_{start}"
    if name in view.sketch.constants:
        return name, {}, {}
    name = view.sketch.unused(name)
    extent = view.sketch.sizes[dim]
    constant = Constant((extent,), "int32", partial(_numbers, start, extent), name)
    return name, {name: Tensor(name, (dim,), "int32", "input")}, {name: constant}


def _numbers(start: int, extent: int) -> NDArray[Any]:
    import numpy

    return numpy.arange(start, start + extent)

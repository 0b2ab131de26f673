"""An ONNX model as plain frozen data: what the importer needs of the protocol buffer, and none of its classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A dim as the model declares it: a number, a name or an expression of names, or nothing.
Declared = int | str | None


@dataclass(frozen=True)
class Info:
    """A value's name, element type and declared shape; None where it is not declared."""

    name: str
    dtype: str
    shape: tuple[Declared, ...] | None


@dataclass(frozen=True)
class Constant:
    """An array that does not depend on the model's inputs. `load` gives it, and may read a file.

    stored: it is in the model, and not computed from what is.
    """

    shape: tuple[int, ...]
    dtype: str
    load: Callable[[], NDArray[np.generic]]
    name: str = ""
    stored: bool = False


@dataclass(frozen=True)
class Operation:
    """A node of the model. scope: the modules it lies in, outermost first, where the exporter tells."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    scope: tuple[str, ...] = ()

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute, or `default`."""
        return self.attributes.get(name, default)


def split_sizes(whole: int, operation: Operation) -> list[int]:
    """Extents of the parts of a Split that does not say them: equal ones, the last of which is what is left."""
    count = len(operation.outputs)
    each = -(-whole // max(1, int(operation.attribute("num_outputs", count))))
    return [min(each, whole - number * each) for number in range(count)]


@dataclass(frozen=True)
class Model:
    """A model: its inputs (without those that have an initial value), operations in order, and constants."""

    file: str
    opset: int
    inputs: tuple[Info, ...]
    outputs: tuple[Info, ...]
    constants: Mapping[str, Constant]
    operations: tuple[Operation, ...]
    declared: Mapping[str, Info]

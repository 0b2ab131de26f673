"""An .onnx model to a graph: its operations as patterns, its axes as dims with names, decomposed ones put together.

The extents of a graph are numbers, so a model is walked with numbers for the dims that it leaves open; they keep their
names and can be set. What does not depend on the inputs (shapes, positions, tables) is computed at once. Reshapes and
transposes become names of dims wherever that is possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patterns.errors import UserError
from patterns.graph import Graph
from patterns.importer import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patterns.importers.onnx_trace.model import Model

SUFFIXES = (".onnx",)
NONE: Mapping[str, str] = {}


@dataclass(frozen=True)
class Imported:
    """A graph of a model, and what it takes to run it on numbers besides the model's own inputs.

    arrays: the weights, and the inputs that were added (positions), as the graph has them. states: caches that the
    model has as inputs, with the names of these for every layer; a state begins with their rows.
    """

    graph: Graph
    arrays: Mapping[str, NDArray[Any]]
    states: Mapping[str, tuple[str, ...]]


def import_graph(file: Source, name: str, members: int = 1, overrides: Mapping[str, str] = NONE) -> Graph:
    """The graph of an .onnx file. overrides: extents of the dims that the model leaves open, by name.

    Raises UserError: no ONNX file, one that contradicts itself, operations that are not supported (all of them),
    members among whom it would be divided; UnknownName for an override of another extent.
    """
    if members > 1:
        raise UserError(f"{name}: an ONNX model is not divided among {members} members")
    from patterns.importers.onnx_trace.build import built

    return built(_model(file), name, overrides).graph


def import_text(file: Source, name: str) -> str:
    """The graph of an .onnx file as YAML. Raises as `import_graph` does."""
    from patterns.importers.onnx_trace.build import built

    return built(_model(file), name, NONE).text


def import_model(file: Source, name: str, overrides: Mapping[str, str] = NONE) -> Imported:
    """The graph of an .onnx file with its weights. Raises as `import_graph` does."""
    from patterns.importers.onnx_trace.build import built

    made = built(_model(file), name, overrides)
    return Imported(made.graph, made.arrays(), made.states)


def read_of(file: Source) -> bytes:
    """The model, and what its graph may follow from in the files beside it. Raises UserError."""
    from patterns.importers.onnx_trace.beside import read_beside

    content = _content(file)
    return content + read_beside(content, str(file))


def _model(file: Source) -> Model:
    from patterns.importers.onnx_trace.read_model import read_model

    return read_model(_content(file), str(file))


def _content(file: Source) -> bytes:
    from patterns.importers.onnx_trace.read_model import MOST_BYTES

    try:
        import onnx  # noqa: F401
    except ImportError:
        raise UserError(
            f"{file}: reading ONNX models needs the package onnx: pip install 'patternloom[onnx]'"
        ) from None
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror or error}") from None
    if len(content) == MOST_BYTES:
        raise UserError(f"{file}: {MOST_BYTES:,} bytes or more; weights of that size are in files beside the model")
    return content

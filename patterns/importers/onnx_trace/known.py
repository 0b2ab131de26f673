"""What is known on the walk over a model: values whose axes are atoms, constants, and the shapes of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patterns.graph import Argument, Role
from patterns.importers.onnx_trace.atoms import Atoms, Axis
from patterns.importers.onnx_trace.model import Constant, Operation
from patterns.importers.onnx_trace.symbols import unused

if TYPE_CHECKING:
    from numpy.typing import NDArray

Axes = tuple[Axis, ...]


class Unsupported(Exception):
    """What an operation asks for and the importer cannot say in patterns."""


class Wrong(Exception):
    """A model contradicts ONNX: shapes that do not fit, attributes or inputs that are missing."""


@dataclass(frozen=True)
class Value:
    """A value of the model: `axes` as ONNX has them, of the tensor with that name.

    The tensor's dims are the same atoms in any order, so a transpose is no node. Atoms that the tensor does not have
    are those of a broadcast.
    """

    axes: Axes
    tensor: str


@dataclass(frozen=True)
class Made:
    """A tensor of the graph to be; its atoms, outermost first (of what nodes make, only which they are counts)."""

    name: str
    atoms: Axis
    dtype: str
    role: Role
    constant: Constant | None = None


@dataclass(frozen=True)
class Step:
    """A node of the graph to be. An argument that is a tuple is atoms. origin: the operation it is part of."""

    kind: str
    fn: str
    reads: tuple[str, ...]
    writes: str
    over: Axis
    along: int | None
    arguments: tuple[tuple[str, Argument | Axis], ...]
    origin: Operation
    part: str


Arguments = Mapping[str, Argument | Axis]
NONE: Arguments = {}


@dataclass
class Known:
    """What a walk over a model knows so far. sizes: symbolic dims by name."""

    file: str
    opset: int
    sizes: Mapping[str, int]
    atoms: Atoms = field(default_factory=Atoms)
    made: dict[str, Made] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    # Inputs whose axis 0 the model fixes at 1 have an atom for it all the same, so that it can be set.
    batch: int | None = None

    def __post_init__(self) -> None:
        self.operation = Operation("", "", "", (), (), {})

    def constant(self, name: str) -> Constant | None:
        """The constant of that name, None if it depends on the inputs (or is no name)."""
        return self.constants.get(name)

    def array(self, name: str, what: str) -> NDArray[Any]:
        """A constant's array. Raises Unsupported if it is none: the shapes of a graph do not depend on its inputs."""
        found = self.constant(name)
        if not name:
            raise Wrong(f"lacks {what}")
        if found is None:
            raise Unsupported(f"{what} depends on the model's inputs")
        return found.load()

    def ints(self, name: str, what: str) -> tuple[int, ...]:
        """A constant's whole numbers. Raises Unsupported, Wrong."""
        array = self.array(name, what)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            raise Wrong(f"{what} must be a list of whole numbers")
        return tuple(int(number) for number in array.reshape(-1))

    def scalar(self, name: str) -> float | None:
        """The number that a constant of one element is; None for everything else."""
        found = self.constant(name)
        if found is None or any(dim != 1 for dim in found.shape):
            return None
        return shortest(found.load().reshape(-1)[0])

    def operand(self, name: str) -> Value:
        """A value; a constant becomes a weight. Raises Wrong if there is none."""
        if name in self.values:
            return self.values[name]
        found = self.constants.get(name)
        if found is None:
            raise Wrong(f"{self.operation.op} lacks an input")
        self.values[name] = made = self.weight(found, name)
        return made

    def weight(self, constant: Constant, name: str) -> Value:
        """A constant as a tensor of role weight."""
        if 0 in constant.shape:
            raise Unsupported(f"an empty constant, of shape {list(constant.shape)}")
        axes = tuple((self.atoms.new(size),) if size != 1 else () for size in constant.shape)
        return self.given(name, axes, constant.dtype, "weight", constant)

    def given(self, name: str, axes: Axes, dtype: str, role: Role, constant: Constant | None = None) -> Value:
        """A tensor that no node makes."""
        atoms = flat(axes)
        name = self.unused(name)
        self.made[name] = Made(name, atoms, dtype, role, constant)
        self.atoms.set_apart(atoms)
        return Value(axes, name)

    def unused(self, name: str) -> str:
        """The name, with a number if it is taken."""
        return unused(name, self.made, "#")

    def axes(self, value: Value) -> Axes:
        """A value's axes, in undivided atoms."""
        return tuple(self.atoms.resolved(axis) for axis in value.axes)

    def shape(self, value: Value) -> tuple[int, ...]:
        """A value's shape as ONNX has it."""
        return tuple(self.atoms.size(axis) for axis in value.axes)

    def held(self, value: Value) -> Axis:
        """The undivided atoms that the tensor itself has."""
        return self.atoms.resolved(self.made[value.tensor].atoms)

    def dtype(self, value: Value) -> str:
        """Element type of a value."""
        return self.made[value.tensor].dtype


def shortest(number: Any) -> float:
    """A number of single precision as it was written: 1e-06, not 9.999999974752427e-07."""
    import numpy

    short = float(str(numpy.float32(number)))
    return short if numpy.float32(number) == number else float(number)


def flat(axes: Iterable[Axis]) -> Axis:
    """All atoms of some axes, in order."""
    return tuple(atom for axis in axes for atom in axis)

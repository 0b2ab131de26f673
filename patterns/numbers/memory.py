"""What is in memory while a graph is run on numbers: arrays by name, for every member, every copy and every state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from patterns.count import storage_of
from patterns.dtypes import is_integer
from patterns.errors import UserError, did_you_mean
from patterns.graph import GIVEN, Block, Graph, Tensor
from patterns.numbers.rounding import range_of, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray


# One array for each member of the group that runs the graph together.
PerMember = list["NDArray[Any]"]


def provided(graph: Graph) -> tuple[Tensor, ...]:
    """Tensors whose values must be given to run the graph."""
    return tuple(tensor for tensor in graph.tensors if tensor.role in GIVEN)


def has_copies(tensor: Tensor) -> bool:
    """Whether a tensor's array has a leading axis of its block's count."""
    return bool(tensor.block) and tensor.role in ("weight", "state")


def full_shape(graph: Graph, tensor: Tensor) -> tuple[int, ...]:
    """Shape of a tensor's array, with the axis of its copies."""
    shape = graph.shape(tensor.name)
    return (graph.copies(tensor.name), *shape) if has_copies(tensor) else shape


def need_fresh(graph: Graph) -> None:
    """Raises UserError if a node reads a state under an old name: that of a scatter which another has overwritten, or
    in one block the state's own after a node has written it.

    Which of the two comes first in a block would be a matter of how the graph is run. Later blocks read the state's
    own name as it is then.
    """
    written: dict[str, str] = {}
    for block in graph.blocks:
        shared = [(graph.tensor_named[node.writes].shares, node.writes) for node in block.nodes]
        if block.count > 1:  # one execution's writes come before the next one's reads
            written |= {storage: name for storage, name in shared if storage}
        newest: dict[str, str] = {}
        for node, (storage, result) in zip(block.nodes, shared, strict=True):
            for name in node.reads:
                own = storage_of(graph, name)
                last = newest.get(own, name if name == own else written.get(own, name))
                if last != name:
                    what = f"node {node.name!r} reads {name!r} after {last!r} was written over it"
                    raise UserError(f"{what}; read {newest.get(own, own)!r}")
            if storage:
                newest[storage] = written[storage] = result


class Memory:
    """Arrays of a run. Nothing that was given is changed: states are copied."""

    def __init__(
        self, graph: Graph, arrays: Mapping[str, NDArray[Any]], members: int, precision: str, *, rounds: bool = False
    ) -> None:
        """rounds: whether what is given is rounded to its type."""
        need_fresh(graph)
        _need_sound(graph, arrays, members)
        self.graph = graph
        self.members = members
        self._held = {
            tensor.name: _per_member(graph, tensor, arrays[tensor.name], members, precision, rounds)
            for tensor in provided(graph)
        }
        self._before: dict[str, PerMember | None] = {}

    def read(self, name: str, execution: int) -> PerMember:
        """A tensor's array of each member; of a block's weight or state the copy of this execution.

        Raises KeyError if nobody has written it: a plan hides it in a call and reads it in another.
        """
        if name not in self._held:
            raise KeyError(f"{name} is read where it is not visible")
        arrays = self._held[name]
        return [array[execution] for array in arrays] if has_copies(self.graph.tensor_named[name]) else arrays

    def write(self, name: str, execution: int, arrays: PerMember) -> None:
        """Keep a result; the result of a scatter into a state is written into that state too."""
        self._held[name] = arrays
        storage = self.graph.tensor_named[name].shares
        if storage:
            at = execution if has_copies(self.graph.tensor_named[storage]) else ...
            # A new array: what was read before may be a view of the old one.
            states = [state.copy() for state in self._held[storage]]
            for state, array in zip(states, arrays, strict=True):
                state[at] = array
            self._held[storage] = states

    def carry(self, block: Block) -> None:
        """After an execution of a block: its results are what the next one reads."""
        new = {inside: self._held[result] for inside, result in block.carried}
        for inside, arrays in new.items():
            self._before.setdefault(inside, self._held.get(inside))
            self._held[inside] = arrays

    def leave(self, block: Block) -> None:
        """After the last execution of a block: what it carried has its old meaning again."""
        for inside, _ in block.carried:
            before = self._before.pop(inside, None)
            if before is not None:
                self._held[inside] = before

    def results(self, also: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Results, states as they are now, and the tensors in `also`; with a leading axis of members if several.

        Raises UserError for a tensor that nobody made, or that a call hides.
        """
        import numpy

        states = {tensor.name for tensor in provided(self.graph) if tensor.role == "state"}
        names = [tensor.name for tensor in self.graph.tensors if tensor.name in self.graph.results | states]
        wanted = dict.fromkeys([*names, *also])
        for name in wanted:
            if name not in self._held:
                raise UserError(f"{name!r} is not visible after the run")
        found = {name: self._held[name] for name in wanted}
        return {name: numpy.stack(held) if self.members > 1 else held[0] for name, held in found.items()}


def _per_member(graph: Graph, tensor: Tensor, array: Any, members: int, precision: str, rounds: bool) -> PerMember:
    import numpy

    dtype = "int64" if is_integer(tensor.dtype) else precision
    converted = numpy.array(array, dtype=dtype)
    converted = rounded(converted, tensor.dtype) if rounds else converted
    shared = converted.ndim == len(full_shape(graph, tensor))
    return [converted.copy() if shared else converted[member] for member in range(members)]


def _need_sound(graph: Graph, arrays: Mapping[str, NDArray[Any]], members: int) -> None:
    """Raises UserError with all that is missing, too much, no array, of another shape or not of whole numbers."""
    import numpy

    known = {tensor.name: tensor for tensor in provided(graph)}
    wrong = [
        f"{name!r} is no input, weight or state of {graph.name}{did_you_mean(name, known)}"
        for name in arrays
        if name not in known
    ]
    for tensor in known.values():
        due = full_shape(graph, tensor)
        if tensor.name not in arrays:
            wrong.append(f"{tensor.name!r} ({tensor.role}) is missing: {_described(graph, tensor)}")
        elif not isinstance(arrays[tensor.name], numpy.ndarray | numpy.generic):
            found = type(arrays[tensor.name]).__name__
            wrong.append(f"{tensor.name!r} is of type {found}, due is a numpy array: {_described(graph, tensor)}")
        elif not _fits(tuple(arrays[tensor.name].shape), due, members):
            shape = _times(arrays[tensor.name].shape)
            wrong.append(f"{tensor.name!r} has shape {shape}, due is {_described(graph, tensor)}")
        elif is_integer(tensor.dtype) and arrays[tensor.name].dtype.kind not in "iu":
            wrong.append(f"{tensor.name!r} is {arrays[tensor.name].dtype}, due are integers ({tensor.dtype})")
        elif is_integer(tensor.dtype) and _beyond(arrays[tensor.name], tensor.dtype):
            least, greatest = range_of(tensor.dtype)
            wrong.append(f"{tensor.name!r} has numbers that {tensor.dtype} does not hold: it has {least} to {greatest}")
        elif arrays[tensor.name].dtype.kind not in "iuf":
            wrong.append(f"{tensor.name!r} is {arrays[tensor.name].dtype}, due are numbers")
    if wrong:
        raise UserError("\n".join(wrong))


def _beyond(array: NDArray[Any], dtype: str) -> bool:
    least, greatest = range_of(dtype)
    return bool(array.size) and (int(array.min()) < least or int(array.max()) > greatest)


def _fits(shape: tuple[int, ...], due: tuple[int, ...], members: int) -> bool:
    return shape == due or (members > 1 and shape == (members, *due))


def _described(graph: Graph, tensor: Tensor) -> str:
    copies = [f"{tensor.block} x {graph.copies(tensor.name)}"] if has_copies(tensor) else []
    return f"[{', '.join([*copies, *tensor.dims])}] = {_times(full_shape(graph, tensor))}"


def _times(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape)) or "one number"

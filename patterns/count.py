"""FLOPs, bytes and operational intensity of a graph, a block or a group of nodes. No machine is known here.

Rules. A multiply-add is 2 FLOPs; vector and special ops are counted by function (functions.py). Traffic is what crosses
the border of a group, by storage: the result of a scatter into a state is that state. A tensor that several nodes read
counts once; a gather counts the rows it looks up, a slice what it takes, a scatter into a state the rows it writes;
different parts that several nodes take are added up, to the whole tensor at most. Executions of a block find the same
rows again, unless their indices change. A state that is read after a scatter in the
same group counts as read. Results stay inside a group if nobody else reads them. A buffer has no bytes of its own:
what it reads from outside counts, and what it writes that others read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from patterns.axes import points, union
from patterns.counting.executions import ONCE, Repeats, repeated
from patterns.dtypes import bytes_of
from patterns.graph import Block, Graph, Node, Tensor
from patterns.kind import Demand, kind_of
from patterns.seen import Elements, touched_by
from patterns.structure import structure_of


@dataclass(frozen=True)
class Compulsory:
    """Bytes that one run of a graph must move, however it is run: everything is read or written once.

    weight_bytes: of weights that are read whole (each of a block's copies once). gathered_bytes: of those that are
    read by rows. state_bytes: read of states; state_written_bytes: rows written into them.
    """

    weight_bytes: int
    state_bytes: int
    input_bytes: int
    output_bytes: int
    gathered_bytes: int = 0
    state_written_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """All of them."""
        read = self.weight_bytes + self.gathered_bytes + self.state_bytes + self.input_bytes
        return read + self.state_written_bytes + self.output_bytes


@dataclass(frozen=True)
class Traffic:
    """Bytes that cross the border of a group of nodes in one execution: (storage, bytes), in order of first use."""

    reads: tuple[tuple[str, int], ...]
    writes: tuple[tuple[str, int], ...]

    @property
    def read_bytes(self) -> int:
        """All that is read."""
        return sum(count for _, count in self.reads)

    @property
    def written_bytes(self) -> int:
        """All that is written."""
        return sum(count for _, count in self.writes)

    @property
    def total_bytes(self) -> int:
        """Read and written."""
        return self.read_bytes + self.written_bytes


def node_dims(graph: Graph, node: Node) -> tuple[str, ...]:
    """Every dim of a node: those of its result first, then those that are only read."""
    tensors = graph.tensor_named
    return union(*[tensors[name].dims for name in (node.writes, *node.reads)])


def tensor_bytes(graph: Graph, name: str, sizes: Mapping[str, int] | None = None) -> int:
    """Bytes of one copy of a tensor, or of a tile of it: `sizes` replaces extents."""
    tensor = graph.tensor_named[name]
    return bytes_of(points(tensor.dims, _sizes(graph, sizes)), tensor.dtype)


def _sizes(graph: Graph, sizes: Mapping[str, int] | None) -> Mapping[str, int]:
    return {**graph.sizes, **sizes} if sizes else graph.sizes


def node_demand(graph: Graph, node: Node, sizes: Mapping[str, int] | None = None) -> Demand:
    """Work of one execution of a node, or of a tile of it: `sizes` replaces extents."""
    return kind_of(node).demand(node, graph, _sizes(graph, sizes))


def graph_demand(graph: Graph) -> Demand:
    """Work of one run: every block as often as it is repeated."""
    return total_demand((node_demand(graph, node), block.count) for block, node in graph.nodes())


def group_demand(
    graph: Graph, block_name: str, node_names: Iterable[str], sizes: Mapping[str, int] | None = None
) -> Demand:
    """Work of one execution of a group of nodes of one block."""
    return total_demand((node_demand(graph, node, sizes), 1) for node in group_nodes(graph, block_name, node_names))


def total_demand(demands: Iterable[tuple[Demand, int]]) -> Demand:
    """The sum of demands, each so many times."""
    pairs = tuple(demands)
    return Demand(
        sum(demand.matrix_flops * count for demand, count in pairs),
        sum(demand.vector_ops * count for demand, count in pairs),
        sum(demand.special_ops * count for demand, count in pairs),
        sum(demand.network_bytes * count for demand, count in pairs),
    )


def group_nodes(graph: Graph, block_name: str, node_names: Iterable[str]) -> tuple[Node, ...]:
    """The named nodes of a block, in the block's order."""
    wanted = set(node_names)
    return tuple(node for node in graph.block_named[block_name].nodes if node.name in wanted)


def parameters(graph: Graph) -> int:
    """Elements of all weights, every copy."""
    return sum(graph.elements(t.name) * graph.copies(t.name) for t in graph.tensors if t.role == "weight")


def parameter_bytes(graph: Graph) -> int:
    """Bytes of all weights, every copy."""
    return _capacity_bytes(graph, "weight")


def state_capacity_bytes(graph: Graph) -> int:
    """Bytes of all states, every copy: what a KV cache takes."""
    return _capacity_bytes(graph, "state")


def exchanged_bytes(graph: Graph) -> int:
    """Bytes of what a run is given and of what it leaves: inputs and results, states left out."""
    left = sum(tensor_bytes(graph, name) for name in graph.results if not graph.tensor_named[name].shares)
    return _capacity_bytes(graph, "input") + left


def _capacity_bytes(graph: Graph, role: str) -> int:
    return sum(_whole_bytes(graph, tensor) for tensor in graph.tensors if tensor.role == role and not tensor.shares)


def _whole_bytes(graph: Graph, tensor: Tensor) -> int:
    return tensor_bytes(graph, tensor.name) * graph.copies(tensor.name)


def storage_of(graph: Graph, name: str) -> str:
    """The name of the storage that a tensor has: its own, or the state's that it shares."""
    return graph.tensor_named[name].shares or name


def hidden(graph: Graph, node_names: Collection[str]) -> frozenset[str]:
    """Tensors that live only inside a group of nodes: made and read in it, and by nobody else.

    Not outputs, not what nobody reads, not states, and not what a block carries to its next iteration.
    """
    group = set(node_names)
    carried = {result for block in graph.blocks for _, result in block.carried}
    made = (graph.tensor_named[node.writes] for _, node in graph.nodes() if node.name in group)
    inside = (t.name for t in made if not t.shares and group.issuperset(graph.readers(t.name)))
    return frozenset(inside) - graph.results - carried


def group_traffic(
    graph: Graph, block_name: str, node_names: Iterable[str], sizes: Mapping[str, int] | None = None
) -> Traffic:
    """Bytes that one execution of a group of a block's nodes reads and writes; `sizes` replaces extents (a tile)."""
    group = group_nodes(graph, block_name, node_names)
    own = _sizes(graph, sizes)
    found = [(node, ONCE, kind_of(node).touched(node, graph, own)) for node in group]
    reads, writes = _touched(graph, found, own, copies=False)
    made = {node.writes for node in group if not graph.tensor_named[node.writes].shares}
    inside = hidden(graph, [node.name for node in group])
    return Traffic(
        tuple((name, count) for name, count in reads.items() if count and name not in made),
        tuple((name, count) for name, count in writes.items() if count and name not in inside),
    )


def _touched(
    graph: Graph, nodes: Iterable[tuple[Node, Repeats, Elements]], sizes: Mapping[str, int], *, copies: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes read and written by storage, by nodes that are executed so many times: at most the whole of each.

    copies: whether executions are of a whole run, which touches every copy of a block's weight or state, or of one.
    """
    reads: dict[_Part, int] = {}
    writes: dict[_Part, int] = {}
    for node, repeats, (read, written) in nodes:
        taken = [(reads, *found) for found in zip(node.reads, read, strict=True)]
        for parts, name, elements in [*taken, (writes, node.writes, written)]:
            storage = storage_of(graph, name)
            part = storage, (node.along, node.reads[1:2], node.arguments)
            times = repeats.executions if graph.copies(storage) > 1 or repeats.finds_others(node, storage) else 1
            parts[part] = max(parts.get(part, 0), elements * times)
    return _by_storage(graph, reads, sizes, copies), _by_storage(graph, writes, sizes, copies)


# A storage, and how nodes look up in it or cut it: those that do it alike take the same elements.
_Part = tuple[str, tuple[object, ...]]


def _by_storage(graph: Graph, parts: Mapping[_Part, int], sizes: Mapping[str, int], copies: bool) -> dict[str, int]:
    """Bytes of all parts of each storage together, at most the whole of it (or of all its copies)."""
    elements: dict[str, int] = {}
    for (name, _), count in parts.items():
        whole = points(graph.tensor_named[name].dims, sizes) * (graph.copies(name) if copies else 1)
        elements[name] = min(elements.get(name, 0) + count, whole)
    return {name: _packed_bytes(graph.tensor_named[name], count, sizes) for name, count in elements.items()}


def _packed_bytes(tensor: Tensor, elements: int, sizes: Mapping[str, int]) -> int:
    """Bytes of elements of one copy of a tensor after the other: those of each lie together."""
    one = points(tensor.dims, sizes)
    copies, rest = divmod(elements, one)
    return copies * bytes_of(one, tensor.dtype) + bytes_of(rest, tensor.dtype)


@lru_cache(maxsize=64)
def compulsory_by_storage(graph: Graph) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Bytes that one run must move, by the storage that they are of: read, and written."""
    structure = structure_of(graph)
    nodes = repeated(structure)
    touched = touched_by(graph, tuple([node for node, _ in nodes]))
    found = [(node, repeats, touched[node]) for node, repeats in nodes]
    reads, writes = _touched(structure, found, graph.sizes, copies=True)
    role = {name: structure.tensor_named[name].role for name in (*reads, *writes)}
    given = {name: count for name, count in reads.items() if role[name] in ("weight", "state", "input")}
    left = {name: count for name, count in writes.items() if role[name] == "state" or name in structure.results}
    return given, left


@lru_cache(maxsize=64)
def compulsory(graph: Graph) -> Compulsory:
    """Bytes that one run must move: inputs, weights and states read once, results and rows of states written once."""
    reads, writes = compulsory_by_storage(graph)
    structure = structure_of(graph)
    weights = {name for name in reads if structure.tensor_named[name].role == "weight"}
    whole = {name for name in weights if reads[name] == _whole_bytes(graph, structure.tensor_named[name])}
    return Compulsory(
        weight_bytes=sum(reads[name] for name in whole),
        state_bytes=_sum_of(structure, reads, "state"),
        input_bytes=_sum_of(structure, reads, "input"),
        output_bytes=sum(writes[name] for name in structure.results if name in writes),
        gathered_bytes=sum(reads[name] for name in weights - whole),
        state_written_bytes=_sum_of(structure, writes, "state"),
    )


def _sum_of(graph: Graph, totals: Mapping[str, int], role: str) -> int:
    return sum(count for name, count in totals.items() if graph.tensor_named[name].role == role)


def ops(demand: Demand) -> int:
    """FLOPs and ops of all units together."""
    return demand.matrix_flops + demand.vector_ops + demand.special_ops


def intensity(graph: Graph, block: Block | None = None, node_names: Iterable[str] | None = None) -> float:
    """FLOPs and ops per byte; 0.0 where no byte moves.

    Of a whole run at its compulsory bytes, or of one execution of a block or of some of its nodes.
    """
    if block is None:
        work, moved = ops(graph_demand(graph)), compulsory(graph).total_bytes
    else:
        names = tuple(node.name for node in block.nodes) if node_names is None else tuple(node_names)
        work = ops(group_demand(graph, block.name, names))
        moved = group_traffic(graph, block.name, names).total_bytes
    return work / moved if moved else 0.0

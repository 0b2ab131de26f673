"""From nested nodes to a metapipe: what each node reads becomes a stream or another stage's tiles.

A tensor from outside is loaded where the innermost pipe that cuts it is, once for all that read it there; rows that are
looked up where their index is. What others read later is stored where its tiles are made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from patterns.graph import Block, Graph
from rdu_model.ask import Asked
from rdu_model.pipe import (
    ITERATION,
    Carry,
    Item,
    Leaf,
    Load,
    Metapipe,
    Pipe,
    Reorder,
    Spill,
    Stage,
    Store,
    placed,
    reads_of,
)
from rdu_model.tiles.nests import Nest, Shape, paths_of

Place = tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A pipe that is to be: its place in the tree, its dim."""

    key: int
    dim: str


@dataclass(frozen=True)
class Connection:
    """A section being connected; the lists grow while its nodes are gone through.

    spilled: tensors that one iteration hands to the next through off-chip memory, by their names inside.
    """

    graph: Graph
    block: Block
    nodes: Mapping[str, Asked]
    iterations: int
    paths: Mapping[str, tuple[Loop, ...]]
    spilled: frozenset[str]
    loads: dict[tuple[str, Place, tuple[object, ...]], Load] = field(default_factory=dict)
    leaves: list[tuple[Leaf, tuple[Loop, ...]]] = field(default_factory=list)

    @cached_property
    def makers(self) -> dict[str, str]:
        """The node of this section that writes a tensor."""
        return {asked.node.writes: name for name, asked in self.nodes.items()}

    @cached_property
    def carried(self) -> dict[str, str]:
        """Carried result by what it is called inside, where one call runs several iterations that read it."""
        made = self.makers
        read = {tensor for asked in self.nodes.values() for tensor in asked.node.reads}
        carried = self.block.carried if self.iterations > 1 else ()
        return {inside: result for inside, result in carried if result in made and inside in read}

    @cached_property
    def written(self) -> frozenset[str]:
        """States that this section writes over."""
        return written_states(self.graph, self.nodes.values())

    @cached_property
    def passed_by(self) -> frozenset[str]:
        """Results that are stored and loaded again in every iteration, and what they are called inside.

        What is written over a state is stored by each iteration.
        """
        shares = {result for result in self.carried.values() if self.graph.tensor_named[result].shares}
        results = {result for inside, result in self.carried.items() if inside in self.spilled} | shares
        return frozenset(name for pair in self.carried.items() if pair[1] in results for name in pair)

    @cached_property
    def handed_on(self) -> dict[str, str]:
        """What stays on the chip from one iteration to the next."""
        return {inside: result for inside, result in self.carried.items() if result not in self.passed_by}


def connect(
    name: str,
    graph: Graph,
    block: Block,
    nodes: Mapping[str, Asked],
    shape: Shape,
    tiles: Mapping[int, int],
    iterations: int,
    spilled: frozenset[str] = frozenset(),
) -> Metapipe:
    """The metapipe of a section whose nodes are nested as `shape` says, with these tiles by nest.

    spilled: what goes from one iteration to the next through off-chip memory, by its name inside.
    """
    root = (Loop(-1, ITERATION),) if iterations > 1 else ()
    paths = {name: (*root, *(Loop(nest.key, nest.dim) for nest in path)) for name, path in paths_of(shape)}
    connection = Connection(graph, block, nodes, iterations, paths, spilled)
    readers: dict[str, list[str]] = {}
    for node, path in paths.items():
        _connect_node(connection, node, path, readers)
    whole: Shape = (Nest(-1, ITERATION, shape),) if iterations > 1 else shape
    body = _assemble(whole, (), {**tiles, -1: 1}, connection.leaves)
    carries, spills = _carries(connection, readers), tuple(_spills(connection))
    return Metapipe(name, graph, block.name, tuple(paths), body, iterations, carries, spills=spills)


def _carries(at: Connection, readers: Mapping[str, list[str]]) -> tuple[Carry, ...]:
    # Of a result that is handed on under two names, one is stored.
    first = {result: inside for inside, result in reversed(at.handed_on.items())}
    return tuple(
        Carry(f"carry {inside}", result, at.makers[result], tuple(readers[inside]), first[result] == inside)
        for inside, result in at.handed_on.items()
    )


def _spills(at: Connection) -> Iterator[Spill]:
    for inside, result in at.carried.items():
        loads = tuple(load.name for (tensor, *_), load in at.loads.items() if tensor == inside)
        if result in at.passed_by and loads:
            yield Spill(f"spill {inside}", f"store {result}", loads)


def _connect_node(at: Connection, name: str, path: tuple[Loop, ...], readers: dict[str, list[str]]) -> None:
    """The node's loads, the node, and the store of what it writes, in this order."""
    asked = at.nodes[name]
    touched, _ = asked.touched(at.graph.sizes)
    sources: list[tuple[str, ...]] = [()] * len(asked.node.reads)
    for number in reversed(range(len(asked.node.reads))):
        if touched[number]:
            sources[number] = _sources(at, asked, number, path, sources[1] if number == 0 and asked.indexes else ())
        if asked.node.reads[number] in at.handed_on and name not in readers.setdefault(asked.node.reads[number], []):
            readers[asked.node.reads[number]].append(name)
    only_reorders = (asked.moves and len(sources) == 1 and len(sources[0]) == 1) or _is_address(at, asked, sources)
    handed = any(read in at.handed_on for read in asked.node.reads)
    hands = asked.node.writes in at.handed_on.values()
    leaf = (
        Reorder(name, sources[0][0], *sources[1:])
        if only_reorders and not handed and not hands
        else Stage(name, tuple(sources))
    )
    at.leaves.append((leaf, path))
    if not hands and is_stored(at.graph, at.nodes, asked.node.writes):
        at.leaves.append((Store(f"store {asked.node.writes}", asked.node.writes, name), _store_path(at, asked, path)))


def _is_address(at: Connection, asked: Asked, sources: Sequence[Sequence[str]]) -> bool:
    """Whether a node only says where rows lie that a stream, which has waited for the index, brought."""
    return asked.is_address and len(sources[0]) == 1 and asked.node.reads[0] not in at.makers


def _sources(
    at: Connection, asked: Asked, number: int, path: tuple[Loop, ...], index: tuple[str, ...]
) -> tuple[str, ...]:
    """The items that a read waits for: a stage of this section, a stream, or both where a scatter changed some rows.

    index: the items of the index by which the node looks up in what it reads there.
    """
    node = asked.node
    tensor = node.reads[number]
    made = at.makers.get(tensor)
    if made and not at.graph.tensor_named[tensor].shares:
        return (made,)
    cutting = [depth for depth, loop in enumerate(path) if _needs_other(at, asked, number, loop.dim)]
    where = path[: cutting[-1] + 1] if cutting else ()
    part = asked.takes_part(number)
    how: tuple[object, ...] = (node.along, *node.reads[1:2], *node.arguments) if part else ()
    key = (tensor, tuple(loop.key for loop in where), how)
    if key not in at.loads:
        again = sum(1 for name, *_ in at.loads if name == tensor)
        once = tensor in at.handed_on and bool(where)
        # What is loaded in the first iteration only waits for no index, which comes in each: it is loaded whole.
        after = index[0] if part and index and not once else ""
        load = Load(f"load {tensor}" + (f" {again + 1}" if again else ""), tensor, after=after, once=once)
        at.loads[key] = load
        at.leaves.append((load, where))
    return (*((made,) if made else ()), at.loads[key].name)


def _needs_other(at: Connection, asked: Asked, number: int, dim: str) -> bool:
    """Whether steps along a dim need other elements of what a node reads; iterations where its index changes, too."""
    if dim != ITERATION:
        return dim in asked.cutting(number)
    looked_up = asked.node.reads[1:2] if number == 0 and asked.indexes and asked.takes_part(0) else ()
    changing = any(name in at.makers or name in at.handed_on or _cuts(at, dim, name) for name in looked_up)
    return changing or _cuts(at, dim, asked.node.reads[number])


def _cuts(at: Connection, dim: str, tensor: str) -> bool:
    """Whether steps along a dim read or write another part of a tensor.

    What iterations pass to one another by off-chip memory is another in each of them.
    """
    if dim != ITERATION:
        return dim in at.graph.tensor_named[tensor].dims
    return tensor in at.passed_by or changes(at.graph, at.written, tensor)


def written_states(graph: Graph, nodes: Iterable[Asked]) -> frozenset[str]:
    """Names of the states that these nodes write over."""
    return frozenset(graph.tensor_named[asked.node.writes].shares for asked in nodes)


def changes(graph: Graph, written: Collection[str], tensor: str) -> bool:
    """Whether each execution of a block has another: what some block owns, and a state that is among the written."""
    found = graph.tensor_named[tensor]
    storage = graph.tensor_named[found.shares] if found.shares else found
    # A block reads what another one owns only if both are repeated as often: each execution its copy.
    own = bool(storage.block) and storage.role in ("weight", "state")
    return own or storage.name in written


def _store_path(at: Connection, asked: Asked, path: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The outer pipes up to one that does not cut the result: its tiles are complete only when that pipe is done."""
    for depth, loop in enumerate(path):
        if not _cuts(at, loop.dim, asked.node.writes):
            return path[:depth]
    return path


def is_stored(graph: Graph, nodes: Mapping[str, Asked], tensor: str) -> bool:
    """Whether what one of these nodes writes is read elsewhere, or is a result."""
    read_elsewhere = any(reader not in nodes for reader in graph.readers(tensor))
    return (
        bool(graph.tensor_named[tensor].shares)
        or read_elsewhere
        or tensor in graph.results
        or any(tensor == name for block in graph.blocks for _, name in block.carried)
    )


def _assemble(
    shape: Shape, place: Place, tiles: Mapping[int, int], leaves: list[tuple[Leaf, tuple[Loop, ...]]]
) -> tuple[Item, ...]:
    """The tree: at each place its leaves and pipes as they were found, loads before what reads them."""
    body: list[Item] = []
    pipes = {item.key: item for item in shape if isinstance(item, Nest)}
    for leaf, path in leaves:
        keys = tuple(loop.key for loop in path)
        if keys == place:
            body.append(leaf)
        elif keys[: len(place)] == place and keys[len(place)] in pipes:
            inside = pipes.pop(keys[len(place)])
            deeper = _assemble(inside.body, (*place, inside.key), tiles, leaves)
            body.append(Pipe(inside.dim, tiles[inside.key], deeper))
    return _loads_first(body)


def _loads_first(body: list[Item]) -> tuple[Item, ...]:
    """The items in their order, but a load stands before the first that waits for it."""
    loads = {item.name: item for item in body if isinstance(item, Load)}
    found: list[Item] = []

    def add(item: Item) -> None:
        for leaf in placed((item,)):
            for name in reads_of(leaf.leaf):
                if name in loads:
                    add(loads.pop(name))
        found.append(item)

    for item in body:
        if not isinstance(item, Load):
            add(item)
        elif item.name in loads:
            add(loads.pop(item.name))
    return tuple(found)

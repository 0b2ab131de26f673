"""What is known of a graph while its file is read, and what is wrong with it so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from patterns.documents.yaml_tree import Path
from patterns.errors import Mistake, did_you_mean
from patterns.expression import ExpressionError, evaluate
from patterns.graph import GIVEN, Block, Node, Tensor
from patterns.graph_file.spec import BlockSpec, GraphSpec, TensorSpec, node_of
from patterns.kind import WrongShape, kind_of
from patterns.load import Document
from patterns.order import chain_text, in_order
from patterns.shape import typed

# Each suggestion compares with all names; a file full of mistakes is not worth minutes.
_SUGGESTIONS = 20


@dataclass
class Assembly:
    """What is known so far, from the top of the file, in each block in the order of the data.

    tensors: every tensor with a shape. readable: names that a node may read now; new: those of this block.
    broken: names whose shape is unknown because of a mistake that was told already; lost: beginnings of such names.
    written, declared_at, node_at: where, so far; extent_at: of what other graphs brought.
    made: (block, node) that writes each tensor, in the whole file.
    counts: of the blocks so far. whole: whether the size of every dim is known.
    """

    spec: GraphSpec
    document: Document
    sizes: Mapping[str, int]
    dims: frozenset[str]
    whole: bool
    lost: tuple[str, ...]
    mistakes: list[Mistake]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    readable: set[str] = field(default_factory=set)
    new: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    written: dict[str, Path] = field(default_factory=dict)
    declared_at: dict[str, Path] = field(default_factory=dict)
    node_at: dict[str, Path] = field(default_factory=dict)
    extent_at: dict[str, Path] = field(default_factory=dict)
    made: dict[str, tuple[str, str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def refuse(self, path: Path, message: str) -> None:
        self.mistakes.append(self.document.at(path, message))

    def refuse_key(self, path: Path, message: str) -> None:
        self.mistakes.append(self.document.at_key(path, message))

    def nearest(self, name: str, *known: Iterable[str]) -> str:
        return did_you_mean(name, sorted(set().union(*known))) if len(self.mistakes) < _SUGGESTIONS else ""

    def line(self, path: Path) -> int:
        return self.document.keys[path].line

    def declare(self, path: Path, specs: Mapping[str, TensorSpec], block: str) -> None:
        """Take the tensors that the graph or a block declares."""
        for name, spec in specs.items():
            here = (*path, "tensors", name)
            if name in self.declared_at:
                line = self.line(self.declared_at[name])
                self.refuse_key(here, f"tensor {name!r} is declared already, on line {line}")
                continue
            self.declared_at[name] = here
            if not self.has_extents((*here, "dims"), spec.dims):
                self.broken.add(name)
            self.tensors[name] = Tensor(name, tuple(spec.dims), spec.dtype, spec.role, block)
            if spec.role in GIVEN:
                self.show(name)

    def show(self, name: str) -> None:
        """From here on, nodes may read a tensor."""
        if name not in self.readable:
            self.readable.add(name)
            self.new.add(name)

    def has_extents(self, path: Path, dims: list[str]) -> bool:
        """Whether all dims are extents, each once; notes the mistakes."""
        before = len(self.mistakes)
        for position, dim in enumerate(dims):
            if dim.startswith(self.lost):
                return False
            if dim not in self.dims:
                nearest = self.nearest(dim, self.dims)
                self.refuse((*path, position), f"dim {dim!r} is not among the extents{nearest}")
            elif dim in dims[:position]:
                self.refuse((*path, position), f"dim {dim!r} twice in one tensor; give the second another name")
        return len(self.mistakes) == before

    def block(self, path: Path, name: str, spec: BlockSpec) -> Block:
        """One block: its tensors, its nodes in order, what it carries, and what can be read after it."""
        self.new = set()
        self.declare(path, spec.tensors, name)
        count = self.counts[name] = self.count((*path, "count"), spec)
        order, cycles = _order(spec)
        self.refuse_cycles((*path, "nodes"), spec, cycles)
        nodes = []
        for node_name in order:
            node = self.node((*path, "nodes", node_name), name, node_of(node_name, spec.nodes[node_name]), cycles)
            if node is not None:
                nodes.append(node)
        for inside, result in spec.carried.items():
            self.check_carried((*path, "carried", inside), name, inside, result)
        results = set(spec.carried.values())
        self.readable -= {tensor for tensor in self.new if not self.outlives(tensor, name, spec, results)}
        return Block(name, count, tuple(nodes), tuple(spec.carried.items()))

    def outlives(self, tensor: str, block: str, spec: BlockSpec, results: set[str]) -> bool:
        """Whether later blocks may read a tensor of this one: of a repeated block, what it carries and outputs."""
        found = self.tensors.get(tensor)
        if found is not None and found.block == block and found.role in GIVEN:
            return False
        return spec.count is None or tensor in results or (found is not None and found.role == "output")

    def count(self, path: Path, spec: BlockSpec) -> int:
        """How often a block is repeated."""
        if spec.count is None:
            return 1
        try:
            found = evaluate(str(spec.count), self.sizes)
        except ExpressionError as error:
            if self.whole:
                self.mistakes.append(self.document.inside(path, error.offset, str(error)))
            return 1
        if found < 1:
            self.refuse(path, f"a count is greater than 0, found {found}")
        return max(found, 1)

    def node(self, path: Path, block: str, node: Node, cycles: Mapping[str, tuple[str, ...]]) -> Node | None:
        """A node with its shape inferred; None after a mistake, of its own or in what it reads."""
        sound = self.can_write(path, node)
        if node.name in self.node_at:
            line = self.line(self.node_at[node.name])
            self.refuse_key(path, f"node {node.name!r} is there already, on line {line}")
            sound = False
        self.node_at.setdefault(node.name, path)
        for position, read in enumerate(node.reads):
            if read not in self.readable and not self.has_copies(read, block):
                self.unreadable((*path, "reads", position), block, read, cycles.get(node.name, ()))
                sound = False
        made = None
        if sound and not self.broken.intersection((*node.reads, node.writes)):
            made = self.shaped(path, block, node)
        if made is None:
            self.broken.add(node.writes)
        self.show(node.writes)
        return made

    def has_copies(self, name: str, block: str) -> bool:
        """Whether each execution of a block finds its copy of what another block owns: both are repeated as often."""
        tensor = self.tensors.get(name)
        if tensor is None or tensor.role not in ("weight", "state"):
            return False
        return self.counts.get(tensor.block, 0) == self.counts[block]

    def can_write(self, path: Path, node: Node) -> bool:
        """Whether the node may write its tensor: nobody else does, and it is no input, weight or state."""
        name, where = node.writes, (*path, "writes")
        say = self.refuse if where in self.document.where else self.refuse_key
        place = where if where in self.document.where else path
        declared = self.tensors.get(name)
        if name in self.written:
            line = self.line(self.written[name])
            say(place, f"tensor {name!r} is written twice, by the nodes on lines {line} and {self.line(path)}")
            return False
        self.written[name] = path
        if declared is not None and declared.role in GIVEN:
            line = self.line(self.declared_at[name])
            say(place, f"tensor {name!r} is declared as {declared.role} on line {line}: no node writes it")
            return False
        return True

    def refuse_cycles(self, path: Path, spec: BlockSpec, cycles: Mapping[str, tuple[str, ...]]) -> None:
        """Say of every cycle which nodes are on it, at the first one's read of the last one's result."""
        for ring in dict.fromkeys(cycles.values()):
            reads, read = spec.nodes[ring[0]].reads, spec.nodes[ring[-1]].writes or ring[-1]
            if read not in self.readable:
                self.refuse((*path, ring[0], "reads", reads.index(read)), f"a cycle: {chain_text(ring)}")

    def unreadable(self, path: Path, block: str, read: str, ring: tuple[str, ...]) -> None:
        """Say why a tensor cannot be read here, by a node on the cycle `ring`."""
        if read in self.broken or read.startswith(self.lost):
            return
        if read not in self.made:
            declared = self.tensors.get(read)
            if declared is None:
                self.refuse(path, f"unknown tensor {read!r}{self.nearest(read, self.readable, self.made)}")
            elif declared.role in GIVEN:
                what = f"tensor {read!r} belongs to block {declared.block!r}"
                self.refuse(path, f"{what}: only its nodes read it, and those of later blocks of the same count")
            else:
                self.refuse(path, f"tensor {read!r} is declared as {declared.role}, and no node writes it")
            return
        where, writer = self.made[read]
        if where != block and read in self.written:
            self.refuse(
                path,
                f"tensor {read!r} is written in the repeated block {where!r}; what is read after it must be carried",
            )
        elif writer not in ring:
            what = f"tensor {read!r} is written below, in block {where!r}; blocks run from top to bottom: move it up"
            self.refuse(path, what)

    def shaped(self, path: Path, block: str, node: Node) -> Node | None:
        """The node and its tensor as its kind infers them; None after a mistake."""
        declared = self.tensors.get(node.writes)
        operands = [self.tensors[name] for name in node.reads]
        try:
            inferred = kind_of(node).infer(node, operands, declared, self.sizes)
            tensor = kind_of(node).output(inferred, operands, declared)
        except WrongShape as error:
            if self.whole and error.argument:
                self.mistakes.append(self.document.inside((*path, error.argument), error.offset, str(error)))
            elif self.whole or error.sure:
                self.refuse_key(path, str(error))
            return None
        if declared is None and self.spec.blocks is not None:
            tensor = Tensor(tensor.name, tensor.dims, tensor.dtype, tensor.role, block, tensor.shares)
        self.tensors[node.writes] = tensor
        return inferred

    def check_carried(self, path: Path, block: str, inside: str, result: str) -> None:
        """Whether a body's result can be what it reads in the next iteration."""
        if inside not in self.readable or inside in self.new:
            nearest = (
                self.nearest(inside, (name for name in self.readable if name not in self.new))
                if inside not in self.made
                else ""
            )
            self.refuse_key(path, f"no tensor {inside!r} is written or declared before block {block!r}{nearest}")
            return
        if self.made.get(result, ("", ""))[0] != block:
            nearest = self.nearest(result, (name for name, (where, _) in self.made.items() if where == block))
            self.refuse(path, f"no node of block {block!r} writes {result!r}{nearest}")
            return
        if self.broken.intersection((inside, result)):
            return
        first, last = self.tensors[inside], self.tensors[result]
        if (first.dims, first.dtype) != (last.dims, last.dtype):
            shapes = f"{typed(last)}, and {inside!r} is {typed(first)}"
            self.refuse(path, f"{result!r} is {shapes}: what is carried keeps its dims and dtype")

    def check_written(self) -> None:
        """Every declared output and intermediate is written by some node."""
        for name, path in self.declared_at.items():
            if self.tensors[name].role in ("output", "intermediate") and name not in self.made:
                self.refuse_key(path, f"no node writes this {self.tensors[name].role}{self.nearest(name, self.made)}")


def _order(spec: BlockSpec) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The nodes of a block, writers before readers and else as in the file; and the cycle that each node is on.

    A cycle is in the direction of the data, first node of the file first.
    """
    writers = {node.writes or name: name for name, node in reversed(spec.nodes.items())}
    needs = {name: [writers[read] for read in node.reads if read in writers] for name, node in spec.nodes.items()}
    position = {name: number for number, name in enumerate(spec.nodes)}
    order, cycles = in_order(needs)
    found = {}
    for cycle in cycles:
        forward = cycle[::-1]
        first = forward.index(min(forward, key=position.__getitem__))
        ring = (*forward[first:], *forward[:first])
        found.update(dict.fromkeys(ring, ring))
    return order, found

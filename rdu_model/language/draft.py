"""A graph while it is being written by the language: regions and nodes are added, and `graph` freezes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from patterns.dtypes import dtype_bits, result_dtype
from patterns.errors import UnknownName, UserError
from patterns.graph import Argument, Block, Graph, Node, Role, Tensor
from patterns.kind import Kind, WrongShape, has, kind_named
from rdu_model.language.due import extents_of, name_of, names_of, text

Arguments = tuple[tuple[str, Argument], ...]


@dataclass(frozen=True)
class Wanted:
    """A node as a person asks for it. dims, dtype: of its result, empty for those that its kind gives it."""

    kind: str
    fn: str
    reads: tuple[str, ...]
    name: str
    over: tuple[str, ...] = ()
    arguments: Arguments = ()
    along: str = ""
    dims: tuple[str, ...] = ()
    dtype: str = ""


@dataclass
class Draft:
    """stored: the region that a node's result is stored in, by the result's name. stale: regions of states by the name
    under which they are read after a scatter has written over them. carried: result by region, from one iteration to
    the next.
    """

    extents: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    stored: dict[str, str] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)
    carried: dict[str, str] = field(default_factory=dict)

    def region(self, name: str, dims: str, shape: object, dtype: str, role: Role, block: str = "") -> Tensor:
        """Declare an array in off-chip memory. Raises UserError."""
        name_of("region", name)
        names = names_of(f"region {name}: dims", dims)
        if name in self.tensors:
            raise UserError(f"region {name} is declared twice")
        dtype_bits(text(f"region {name}: dtype", dtype))
        self.dims(f"region {name}", dict(zip(names, extents_of(f"region {name}", shape, names), strict=True)))
        self.tensors[name] = Tensor(name, names, dtype, role, block)
        return self.tensors[name]

    def dims(self, what: str, extents: Mapping[str, int]) -> None:
        """Dims and their extents, which are the same everywhere. Raises UserError."""
        for dim, extent in extents.items():
            if self.extents.setdefault(dim, extent) != extent:
                raise UserError(f"{what}: dim {dim!r} has extent {extent}, in another {self.extents[dim]}")

    def node(self, wanted: Wanted) -> Node:
        """Add a node that writes a tensor of its own name. Raises UserError."""
        kind = kind_named(wanted.kind)
        _need_sound(wanted, kind)
        result = self._unused(wanted.name)
        node = Node(
            wanted.name,
            wanted.kind,
            wanted.fn,
            wanted.reads,
            result,
            wanted.over,
            wanted.along,
            tuple(sorted(wanted.arguments)),
        )
        try:
            node, self.tensors[result] = self._shaped(wanted, node, kind)
        except WrongShape as error:
            raise UserError(f"{wanted.name}: {error}") from error
        self.nodes.append(node)
        return node

    def _shaped(self, wanted: Wanted, node: Node, kind: Kind) -> tuple[Node, Tensor]:
        """The node with what its kind infers, and the tensor that it writes. Raises WrongShape."""
        operands = [self.tensors[read] for read in node.reads]
        declared = None
        if wanted.dims:
            dtype = result_dtype(operand.dtype for operand in operands)
            declared = Tensor(node.writes, wanted.dims, dtype, "intermediate")
        node = kind.infer(node, operands, declared, self.extents)
        made = kind.output(node, operands, declared)
        if wanted.dtype:
            dtype_bits(wanted.dtype)
            made = kind.output(node, operands, replace(made, dtype=wanted.dtype))
        return node, made

    def _unused(self, name: str) -> str:
        """The name, with a number if a tensor has it already: a region that something else is stored in."""
        number, found = 2, name
        while found in self.tensors:
            found, number = f"{name}_{number}", number + 1
        return found

    def store(self, result: str, region: str) -> None:
        """Say where a node's result goes. Raises UserError."""
        made, to = self.tensors[result], self.tensors[region]
        what = f"store_tile in {region}"
        if region in self.stored.values():
            raise UserError(f"{what}: something is stored there already")
        if result in self.stored:
            raise UserError(f"{what}: the tile is stored in {self.stored[result]} already; a map copy makes another")
        if made.dims != to.dims:
            raise UserError(
                f"{what}: the region is [{', '.join(to.dims)}], the tile [{', '.join(made.dims)}]"
                + (f"; buffer(tile, {' '.join(to.dims)!r}) gives that order" if set(made.dims) == set(to.dims) else "")
            )
        writer = next((node for node in self.nodes if node.writes == result), None)
        if made.dtype != to.dtype and writer is not None and (has(writer, "moves") or has(writer, "indexes")):
            raise UserError(
                f"{what}: the region is {to.dtype}, the tile {made.dtype}, and {writer.name} moves elements as they "
                f"are; map('cast', tile, dtype={to.dtype!r}) converts"
            )
        self.stored[result] = region

    def overwrite(self, result: str) -> None:
        """A scatter has written over a state: from now on it is read under the result's name."""
        storage = self.tensors[result].shares
        self.stale |= {name: result for name, tensor in self.tensors.items() if storage in (name, tensor.shares)}
        del self.stale[result]

    def graph(self, name: str, executions: int) -> Graph:
        """The graph, of one block; results that are stored have the names of their regions. Raises UserError."""
        empty = [t.name for t in self.tensors.values() if t.role == "output" and t.name not in self.stored.values()]
        if empty:
            raise UserError(f"nothing is stored in {', '.join(empty)}")
        nodes = tuple(
            replace(
                node,
                reads=tuple(self.stored.get(read, read) for read in node.reads),
                writes=self.stored.get(node.writes, node.writes),
            )
            for node in self.nodes
        )
        tensors = tuple(tensor for tensor in self.tensors.values() if tensor.name not in self.stored)
        carried = tuple((inside, self.stored.get(result, result)) for inside, result in self.carried.items())
        return Graph(name, tuple(self.extents.items()), tensors, (Block(name, executions, nodes, carried),))


def _need_sound(wanted: Wanted, kind: Kind) -> None:
    """Raises UserError for a function that the kind does not have, and for arguments of a wrong type."""
    for what, value in (("fn", wanted.fn), ("along", wanted.along), ("dtype", wanted.dtype)):
        text(f"{wanted.name}: {what}", value)
    if kind.FUNCTIONS and wanted.fn not in kind.FUNCTIONS:
        raise UnknownName(f"{wanted.kind} function", wanted.fn, kind.FUNCTIONS)
    given = {"kind": wanted.kind, "reads": ["tile"] * len(wanted.reads), **dict(wanted.arguments)}
    given |= {"fn": wanted.fn} if wanted.fn else {}
    given |= {"over": list(wanted.over)} if wanted.over else {}
    given |= {"along": wanted.along} if wanted.along else {}
    try:
        kind.Spec.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field_name = ".".join(map(str, first["loc"])) or wanted.kind
        raise UserError(f"{wanted.name}: {field_name}: {_due(first['type'])}, found {first['input']!r}") from error


def _due(problem: str) -> str:
    return {"extra_forbidden": "there is no such argument", "missing": "is missing"}.get(
        problem, f"{problem.removesuffix('_type').replace('_', ' ')} is due"
    )

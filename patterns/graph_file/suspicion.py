"""What is legal in a graph file and yet probably a mistake: warnings, each with its place.

Only what stands in the file itself is looked at, not what it uses of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from patterns.count import node_demand
from patterns.documents.yaml_tree import Path
from patterns.dtypes import dtype_bits, is_integer
from patterns.errors import Mistake
from patterns.expression import words_in
from patterns.graph import GIVEN, Block, Graph, Node
from patterns.graph_file.spec import BlockSpec, GraphSpec, blocks_of
from patterns.kind import Demand, WrongShape, has, kind_of
from patterns.load import Document
from patterns.shape import listed


@dataclass(frozen=True)
class Written:
    """A graph, and where in its file everything stands. at: the path of each block of the file's own."""

    graph: Graph
    spec: GraphSpec
    document: Document
    at: Mapping[str, Path]

    def nodes(self) -> Iterator[tuple[Path, Block, Node]]:
        """Every node of the file, with its path and its block."""
        for block in self.graph.blocks:
            if block.name in self.at:
                yield from (((*self.at[block.name], "nodes", node.name), block, node) for node in block.nodes)

    def declared(self) -> Iterator[tuple[Path, str]]:
        """Every tensor that the file declares, with its path."""
        yield from ((("tensors", name), name) for name in self.spec.tensors)
        for path, _, block in blocks_of(self.spec):
            if isinstance(block, BlockSpec):
                yield from (((*path, "tensors", name), name) for name in block.tensors)


Found = Iterator[tuple[Path, str]]


def suspicions(graph: Graph, spec: GraphSpec, document: Document) -> tuple[Mistake, ...]:
    """Everything suspicious, in the order of the file. The graph is as its file says, nothing taken out."""
    at = {name: path for path, name, block in blocks_of(spec) if isinstance(block, BlockSpec)}
    written = Written(graph, spec, document, at)
    found = [document.at_key(path, message) for look in _LOOKS for path, message in look(written)]
    return tuple(sorted(found, key=lambda mistake: (mistake.line, mistake.column)))


def unread_tensors(written: Written) -> Found:
    """Tensors that are given and read by nobody."""
    read = {name for block in written.graph.blocks for node in block.nodes for name in node.reads}
    read |= {inside for block in written.graph.blocks for inside, _ in block.carried}
    for path, name in written.declared():
        role = written.graph.tensor_named[name].role
        if role in GIVEN and name not in read:
            yield path, f"no node reads this {role}"


def unused_extents(written: Written) -> Found:
    """Extents that nothing in the file names."""
    data = written.document.data
    named = set(_words({key: value for key, value in dict(data).items() if key not in ("name", "source")}))  # type: ignore[call-overload]
    for name in written.spec.extents:
        if name not in named:
            yield ("extents", name), "nothing in this file uses this extent"


def _words(data: object) -> Iterator[str]:
    """Every word that stands in some value."""
    if isinstance(data, str):
        yield from words_in(data)
    elif isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from _words(value)


def unread_results(written: Written) -> Found:
    """Results that nobody reads and that no file calls an output."""
    for path, _, node in written.nodes():
        tensor = written.graph.tensor_named[node.writes]
        if node.writes in written.graph.results and tensor.role != "output" and not tensor.shares:
            yield path, f"nobody reads {node.writes!r}, and it is not declared as an output"


def sums_of_one(written: Written) -> Found:
    """Sums over a dim of extent 1, which do nothing but take the dim away (as taking the last element is meant to)."""
    for path, _, node in written.nodes():
        ones = [dim for dim in node.over if written.graph.sizes[dim] == 1]
        if ones and len(ones) == len(node.over) and node_demand(written.graph, node) != Demand():
            yield path, f"sums over {listed(ones)}, of extent 1"


def outer_products(written: Written) -> Found:
    """Elementwise functions of tensors without a common dim, though they have dims of one size: one dim, two names?"""
    sizes = written.graph.sizes
    for path, _, node in written.nodes():
        tensors = [written.graph.tensor_named[name] for name in node.reads]
        together = {dim for tensor in tensors for dim in tensor.dims}
        if not has(node, "elementwise") or any(len(tensor.dims) == len(together) for tensor in tensors):
            continue
        for left, right in combinations(tensors, 2):
            alike = [pair for pair in product(left.dims, right.dims) if sizes[pair[0]] == sizes[pair[1]] > 1]
            if alike and not set(left.dims).intersection(right.dims):
                what = f"{left.name} {listed(left.dims)} and {right.name} {listed(right.dims)} have no dim in common"
                yield (
                    path,
                    f"{what}: all elements meet; are {' and '.join(alike[0])}, both {sizes[alike[0][0]]}, one dim?",
                )
                break


def single_blocks(written: Written) -> Found:
    """Blocks with a count that are executed once."""
    for path, name, block in blocks_of(written.spec):
        if isinstance(block, BlockSpec) and block.count is not None and written.graph.block_named[name].count == 1:
            yield (*path, "count"), "a count of 1 repeats nothing; what is read after the block must be carried"


def narrowed(written: Written) -> Found:
    """Results that are declared with fewer bits than their operands have."""
    for path, _, node in written.nodes():
        tensor = written.graph.tensor_named[node.writes]
        operands = [written.graph.tensor_named[name] for name in node.reads]
        try:
            inferred = kind_of(node).output(node, operands, None)
        except WrongShape:
            continue
        same_sort = is_integer(inferred.dtype) == is_integer(tensor.dtype)
        if same_sort and dtype_bits(tensor.dtype) < dtype_bits(inferred.dtype):
            yield (
                path,
                f"{tensor.name} is declared as {tensor.dtype}, and its operands make it {inferred.dtype}: rounded",
            )


def constant_products(written: Written) -> Found:
    """Products of two weights, which are the same in every run."""
    for path, _, node in written.nodes():
        tensors = [written.graph.tensor_named[name] for name in node.reads]
        if has(node, "contracts") and all(tensor.role == "weight" for tensor in tensors):
            yield path, f"{' and '.join(dict.fromkeys(node.reads))}: weights only; the product is the same in every run"


_LOOKS: tuple[Callable[[Written], Found], ...] = (
    unread_tensors,
    unused_extents,
    unread_results,
    sums_of_one,
    outer_products,
    single_blocks,
    narrowed,
    constant_products,
)

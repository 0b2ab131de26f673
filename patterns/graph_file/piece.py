"""A part of another graph, with the names that it has in this one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args, get_origin

from patterns.expression import renamed
from patterns.graph import GIVEN, Argument, Block, Graph, Node, Tensor
from patterns.kind import kind_of

HELD = ("weight", "state")


@dataclass(frozen=True)
class Piece:
    """Blocks of a graph, renamed.

    entry: what it is called in our file. source, chosen: the graph and the blocks taken, under their own names.
    dims, tensors: our names by theirs.
    made: tensors that come with it. extents: those that we had not. operands: what each of our tensors that it reads
    must be, by their name.
    """

    entry: str
    source: Graph
    chosen: tuple[str, ...]
    dims: Mapping[str, str]
    tensors: Mapping[str, str]
    blocks: tuple[Block, ...]
    made: tuple[Tensor, ...]
    extents: Mapping[str, int]
    operands: Mapping[str, Tensor]

    @property
    def writers(self) -> dict[str, tuple[str, str]]:
        """(block, node) that writes each tensor."""
        return {node.writes: (block.name, node.name) for block in self.blocks for node in block.nodes}


def needed(source: Graph, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Tensors that blocks of a graph read and do not make, in order."""
    blocks = [source.block_named[name] for name in chosen]
    made = {node.writes for block in blocks for node in block.nodes}
    read = [name for block in blocks for node in block.nodes for name in node.reads]
    read += [inside for block in blocks for inside, _ in block.carried]
    return tuple(dict.fromkeys(name for name in read if name not in made))


def made_elsewhere(source: Graph, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Of those the ones that other blocks make."""
    return tuple(name for name in needed(source, chosen) if source.tensor_named[name].role not in GIVEN)


def piece(
    entry: str,
    prefix: str,
    source: Graph,
    chosen: tuple[str, ...],
    dims: Mapping[str, str],
    reads: Mapping[str, str],
    same: Mapping[str, str],
    own_dims: Collection[str],
) -> Piece:
    """Blocks of a graph under new names.

    entry: what they are called in our file; prefix: what their names begin with. dims: our names of its extents.
    reads: our tensors in the place of theirs. same: tensors of ours that are theirs
    already (weights and states of another execution). own_dims: extents of theirs that we had not.
    """
    blocks = [source.block_named[name] for name in chosen]
    named = {name: f"{prefix}_{name}" for name in chosen} if len(source.blocks) > 1 else {}
    if len(chosen) == 1:
        named = {chosen[0]: prefix}
    theirs = [*needed(source, chosen), *(node.writes for block in blocks for node in block.nodes)]
    tensors = {name: reads.get(name) or same.get(name) or f"{prefix}_{name}" for name in theirs}
    own = [name for name in theirs if name not in reads and name not in same]
    writers = {node.writes: named[block.name] for block in blocks for node in block.nodes}
    made = tuple(_tensor(source.tensor_named[name], tensors, dims, named, writers) for name in own)
    taken = tuple(_block(block, named[block.name], prefix, tensors, dims) for block in blocks)
    expected = {name: _tensor(source.tensor_named[name], tensors, dims, named, {}) for name in reads if name in theirs}
    extents = {dims[name]: extent for name, extent in source.extents if name in own_dims}
    return Piece(entry, source, chosen, dims, tensors, taken, made, extents, expected)


def held(graph: Graph, tensors: Mapping[str, str]) -> dict[str, str]:
    """Our names of a graph's weights and states."""
    return {name: ours for name, ours in tensors.items() if graph.tensor_named[name].role in HELD}


def _tensor(
    tensor: Tensor,
    tensors: Mapping[str, str],
    dims: Mapping[str, str],
    blocks: Mapping[str, str],
    writers: Mapping[str, str],
) -> Tensor:
    block = blocks.get(tensor.block, "")
    if tensor.role == "intermediate":
        block = writers.get(tensor.name, block)
    shares = tensors.get(tensor.shares, "")
    renamed = tuple(dims[dim] for dim in tensor.dims)
    return replace(tensor, name=tensors[tensor.name], dims=renamed, block=block, shares=shares)


def _block(block: Block, name: str, prefix: str, tensors: Mapping[str, str], dims: Mapping[str, str]) -> Block:
    nodes = tuple(_node(node, prefix, tensors, dims) for node in block.nodes)
    carried = tuple((tensors[inside], tensors[result]) for inside, result in block.carried)
    return replace(block, name=name, nodes=nodes, carried=carried)


def _node(node: Node, prefix: str, tensors: Mapping[str, str], dims: Mapping[str, str]) -> Node:
    fields = kind_of(node).Spec.model_fields
    fixed = {name for name, field in fields.items() if name == "dtype" or _is_choice(field.annotation)}
    return replace(
        node,
        name=f"{prefix}_{node.name}",
        reads=tuple(tensors[name] for name in node.reads),
        writes=tensors[node.writes],
        over=tuple(dims[dim] for dim in node.over),
        along=dims.get(node.along, node.along),
        arguments=tuple((name, value if name in fixed else _words(value, dims)) for name, value in node.arguments),
    )


def _is_choice(annotation: object) -> bool:
    """Whether a field is one of some words, and not the names of dims."""
    return any(get_origin(part) is Literal for part in (annotation, *get_args(annotation)))


def _words(value: Argument, dims: Mapping[str, str]) -> Argument:
    """An argument in which our names stand for their dims."""
    if not isinstance(value, str):
        return value
    return renamed(value, dims)

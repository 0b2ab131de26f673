"""From what a file says to a Graph: names are found, shapes follow, mistakes are collected with their places.

Blocks run in the order of the file. In a block, a node may stand before the one whose result it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from patterns.documents.yaml_tree import Path
from patterns.errors import Mistake
from patterns.graph import GIVEN, Block, Graph, Tensor
from patterns.graph_file.assembly import Assembly
from patterns.graph_file.piece import Piece
from patterns.graph_file.spec import BlockSpec, GraphSpec, blocks_of
from patterns.graph_file.watched import Watched
from patterns.load import Document
from patterns.shape import typed


def assembled(
    spec: GraphSpec,
    document: Document,
    sizes: Mapping[str, int],
    pieces: Mapping[str, Piece],
    mistakes: list[Mistake],
    asked: set[str],
) -> Graph:
    """The graph that a file describes; of no use if `mistakes` is not empty afterwards.

    sizes: extent by name; those with a mistake are missing, and then shapes are not checked. pieces: what is used of
    other graphs; those with a mistake are missing. asked: takes the names of extents whose size is looked at.
    """
    extents = dict(sizes)
    for piece in pieces.values():
        extents.update(piece.extents)
    whole = len(sizes) == len(spec.extents)
    used = {piece.entry for piece in pieces.values()}
    lost = tuple(
        f"{name}_" for _, name, entry in blocks_of(spec) if not isinstance(entry, BlockSpec) and name not in used
    )
    dims = frozenset({*spec.extents, *extents})
    assembly = Assembly(spec, document, Watched(extents, asked), dims, whole, lost, mistakes)
    assembly.made.update(_writers(spec, pieces))
    assembly.declare((), spec.tensors, "")
    blocks: list[Block] = []
    for path, name, entry in blocks_of(spec):
        if isinstance(entry, BlockSpec):
            blocks.append(assembly.block(path, name, entry))
        else:
            for piece in pieces.values():
                blocks += _placed(assembly, path, piece) if piece.entry == name else ()
    assembly.check_written()
    return Graph(spec.name, tuple(extents.items()), _tensors(assembly, pieces, blocks), tuple(blocks))


def _writers(spec: GraphSpec, pieces: Mapping[str, Piece]) -> dict[str, tuple[str, str]]:
    """(block, node) that writes each tensor, the first of the file."""
    found: dict[str, tuple[str, str]] = {}
    for _, block_name, block in blocks_of(spec):
        if isinstance(block, BlockSpec):
            for name, node in block.nodes.items():
                found.setdefault(node.writes or name, (block_name, name))
    for piece in pieces.values():
        found = {**piece.writers, **found}
    return found


def _placed(assembly: Assembly, path: Path, piece: Piece) -> tuple[Block, ...]:
    """The blocks of another graph, their names checked against ours and what they read against what it must be."""
    for theirs, due in piece.operands.items():
        said = (*path, "reads", theirs)
        if said not in assembly.document.where or assembly.document.value(said) != piece.tensors[theirs]:
            said = (*path, "carried", theirs)
        _check_operand(assembly, said, piece, theirs, due)
    nodes = [node.name for block in piece.blocks for node in block.nodes]
    extent_at: dict[str, Path] = {name: ("extents", name) for name in assembly.spec.extents}
    for what, taken, names in (
        ("tensor", assembly.declared_at | assembly.written, [tensor.name for tensor in piece.made]),
        ("node", assembly.node_at, nodes),
        ("extent", extent_at | assembly.extent_at, list(piece.extents)),
    ):
        if twice := next((name for name in names if name in taken), None):
            line = assembly.line(taken[twice])
            assembly.refuse_key(path, f"{what} {twice!r} is there already, on line {line}; call this block otherwise")
    for tensor in piece.made:
        assembly.tensors[tensor.name] = tensor
        assembly.declared_at[tensor.name] = path
    assembly.extent_at.update(dict.fromkeys(piece.extents, path))
    assembly.node_at.update(dict.fromkeys(nodes, path))
    assembly.written.update(dict.fromkeys(piece.writers, path))
    for block in piece.blocks:
        assembly.counts[block.name] = block.count
        carried = {result for _, result in block.carried}
        made = [node.writes for node in block.nodes]
        free = [name for name in made if block.count == 1 or name in carried or assembly.tensors[name].role == "output"]
        assembly.readable.update(free)
    given = (tensor.name for tensor in piece.made if tensor.role in GIVEN and not tensor.block)
    assembly.readable.update(given)
    return piece.blocks


def _check_operand(assembly: Assembly, path: Path, piece: Piece, theirs: str, due: Tensor) -> None:
    """Note what is wrong with a tensor of ours that stands for one of theirs."""
    ours = piece.tensors[theirs]
    if ours not in assembly.readable:
        assembly.unreadable(path, piece.blocks[0].name, ours, ())
        return
    if ours in assembly.broken:
        return
    found = assembly.tensors[ours]
    if (found.dims, found.dtype) != (due.dims, due.dtype):
        hint = "; under extents, say which of their dims are ours" if found.dims != due.dims else ""
        source = piece.source.tensor_named[theirs]
        assembly.refuse(path, f"{ours!r} is {typed(found)}, and {theirs!r} is {typed(source)}, here {typed(due)}{hint}")
    elif due.role == "state" and found.role != "state":
        assembly.refuse(path, f"{ours!r} is declared as {found.role}, and {theirs!r} is a state")


def _tensors(assembly: Assembly, pieces: Mapping[str, Piece], blocks: list[Block]) -> tuple[Tensor, ...]:
    """Every tensor: the declared ones of the graph, then those of each block, then what nodes make.

    What a graph that is used gives out is an intermediate if it is read here.
    """
    read = {name for block in blocks for node in block.nodes for name in node.reads}
    writers = {node.writes: block.name for block in blocks for node in block.nodes}
    for piece in pieces.values():
        for tensor in piece.made:
            if tensor.role == "output" and tensor.name in read:
                inside = replace(tensor, role="intermediate", block=writers[tensor.name])
                assembly.tensors[tensor.name] = inside
    position = {block.name: number for number, block in enumerate(blocks)}
    declared = [tensor for tensor in assembly.tensors.values() if tensor.role != "intermediate"]
    declared.sort(key=lambda tensor: position.get(tensor.block, -1))
    made = [assembly.tensors[node.writes] for block in blocks for node in block.nodes]
    return tuple(dict.fromkeys([*declared, *made]))

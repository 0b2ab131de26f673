"""A Graph to a file that people and any YAML reader understand alike: `parse_graph(write_graph(g)) == g`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from patterns.documents.scalars import plain_scalar
from patterns.graph import Block, Graph, Node
from patterns.kind import WrongShape, kind_of

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./ *()+-]*", re.ASCII)
# Words that YAML 1.1 readers take for booleans, nothing or numbers.
_YAML_1_1 = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_DECLARED = ("input", "weight", "state", "output")


def write_graph(graph: Graph) -> str:
    """The graph as YAML. Intermediates are declared only where their kind would infer something else."""
    lines = [f"name: {word(graph.name)}"]
    if graph.extents:
        lines.append(f"extents: {_flow(graph.extents)}")
    plain = _is_plain(graph)
    declared = {tensor.name for tensor in graph.tensors if tensor.role in _DECLARED}
    declared |= {node.writes for block, node in graph.nodes() if _surprising(graph, node, "" if plain else block.name)}
    owners = {tensor.name: tensor.block for tensor in graph.tensors if tensor.name in declared}
    lines += _tensors(graph, [name for name, owner in owners.items() if not owner], "")
    if plain:
        lines += _nodes(graph.blocks[0], "")
        return "\n".join(lines) + "\n"
    lines.append("blocks:")
    for block in graph.blocks:
        lines.append(f"  {word(block.name)}:")
        lines += _block(graph, block, [name for name, owner in owners.items() if owner == block.name])
    return "\n".join(lines) + "\n"


def _is_plain(graph: Graph) -> bool:
    """Whether top-level `nodes` say the same: one block, not repeated, named like the graph, owning nothing."""
    if len(graph.blocks) != 1 or any(tensor.block for tensor in graph.tensors):
        return False
    block = graph.blocks[0]
    return (block.name, block.count, block.carried) == (graph.name, 1, ())


def _surprising(graph: Graph, node: Node, block: str) -> bool:
    """Whether an intermediate is not what its kind would make of the node by itself, in its block."""
    tensor = graph.tensor_named[node.writes]
    if tensor.role in _DECLARED:
        return False
    operands = [graph.tensor_named[name] for name in node.reads]
    try:
        made = kind_of(node).output(node, operands, None)
    except WrongShape:
        return True
    return (made.dims, made.dtype, block) != (tensor.dims, tensor.dtype, tensor.block)


def _block(graph: Graph, block: Block, owned: list[str]) -> Iterator[str]:
    if block.count != 1:
        yield f"    count: {block.count}"
    if block.carried:
        yield f"    carried: {_flow(block.carried)}"
    yield from _tensors(graph, owned, "    ")
    yield from _nodes(block, "    ")


def _tensors(graph: Graph, names: list[str], indent: str) -> Iterator[str]:
    if names:
        yield f"{indent}tensors:"
    for name in names:
        tensor = graph.tensor_named[name]
        fields = (("dims", tensor.dims), ("dtype", tensor.dtype), ("role", tensor.role))
        yield f"{indent}  {word(name)}: {_flow(fields)}"


def _nodes(block: Block, indent: str) -> Iterator[str]:
    yield f"{indent}nodes:"
    for node in block.nodes:
        yield f"{indent}  {word(node.name)}: {_flow(_fields(node))}"


def _fields(node: Node) -> Iterator[tuple[str, object]]:
    yield "kind", node.kind
    if node.fn:
        yield "fn", node.fn
    yield "reads", node.reads
    if node.writes != node.name:
        yield "writes", node.writes
    if node.over:
        yield "over", node.over
    if node.along:
        yield "along", node.along
    yield from node.arguments


def _flow(fields: Iterable[tuple[str, object]]) -> str:
    return "{" + ", ".join(f"{word(key)}: {flow_text(value)}" for key, value in fields) + "}"


def flow_text(value: object) -> str:
    """A value in flow style: a scalar, a list, or a mapping."""
    if isinstance(value, dict):
        return _flow(value.items())
    if isinstance(value, tuple | list):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    return _SCALARS[type(value)](value)


def word(text: str) -> str:
    """Text, quoted where some reader would take it for something else."""
    unquoted = _PLAIN.fullmatch(text) and text.lower() not in _YAML_1_1 and isinstance(plain_scalar(text), str)
    if unquoted and text == text.strip():
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(letter: str) -> str:
    if letter in ('"', "\\"):
        return f"\\{letter}"
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _float(number: float) -> str:
    """A float with a dot and a signed exponent, which YAML 1.1 wants; the same number again when read."""
    mantissa, mark, exponent = repr(number).partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    if mark and exponent[0] not in "+-":
        exponent = f"+{exponent}"
    return mantissa + mark + exponent


_SCALARS: Mapping[type, Callable[[Any], str]] = {str: word, int: str, float: _float, bool: _truth}

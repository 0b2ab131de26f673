"""Names of blocks and of what their nodes make: the modules they are in, and what they do there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patterns.graph import Node
from patterns.importers.onnx_trace.layers import Segment
from patterns.importers.onnx_trace.sketch import Sketch
from patterns.importers.onnx_trace.symbols import unused


@dataclass(frozen=True)
class Named:
    """A name for every tensor that is read or made in the segments, and one for each block."""

    tensors: Mapping[str, str]
    blocks: tuple[str, ...]


def named(sketch: Sketch, parts: Sequence[Segment], graph_name: str) -> Named:
    """Names for a graph of these segments; a single block is called like the graph."""
    names = {t.name: t.name for t in sketch.tensors.values() if t.role in ("input", "output", "state")}
    blocks: list[str] = []
    for part in parts:
        prefix = _layer(sketch, part)
        counted = Counter(_base(sketch, node, prefix) for node in part.nodes)
        for node in part.nodes:
            if node.writes not in names:
                names[node.writes] = unused(_wanted(sketch, node, prefix, counted), names.values())
        for node in part.nodes:
            for read in node.reads:
                if read not in names:
                    names[read] = unused(_stripped(read, prefix) or read, names.values())
        blocks.append(unused(_block_name(part, prefix, blocks, len(parts)), blocks))
    return Named(names, (graph_name,) if len(parts) == 1 and parts[0].count == 1 else tuple(blocks))


def _block_name(part: Segment, prefix: tuple[str, ...], before: Sequence[str], count: int) -> str:
    if part.count > 1:
        words = [word for word in prefix if not word.isdigit()]
        return "_".join(words) or "layer"
    if not before:
        return "before" if count > 1 else "all"
    return "after" if len(before) == count - 1 else "between"


def _layer(sketch: Sketch, part: Segment) -> tuple[str, ...]:
    """The words that all nodes of a repeated body begin with, up to the number of the layer."""
    if part.count == 1:
        return ()
    made = [sketch.origins[node.writes][0] for node in part.nodes if node.writes in sketch.origins]
    first = [name.split("_") for name in (*made, *(copies[0] for copies in part.weights))]
    numbered = [tuple(words[: at + 1]) for words in first for at, word in enumerate(words) if word.isdigit() and at > 0]
    prefix, often = Counter(numbered).most_common(1)[0] if numbered else ((), 0)
    # Some nodes are of no module, or of several.
    return prefix if often > min(len(part.nodes), len(part.weights)) // 2 else ()


def _stripped(name: str, prefix: tuple[str, ...]) -> str:
    words = name.split("_")
    if not prefix or tuple(words[: len(prefix)]) != prefix:
        return name
    rest = "_".join(words[len(prefix) :])
    return rest if not rest[:1].isdigit() else name


def _base(sketch: Sketch, node: Node, prefix: tuple[str, ...]) -> str:
    origin = sketch.origins.get(node.writes)
    return _stripped(origin[0] if origin else node.name, prefix)


def _wanted(sketch: Sketch, node: Node, prefix: tuple[str, ...], counted: Counter[str]) -> str:
    """The module, and what the node does if the module does more than one thing."""
    base = _base(sketch, node, prefix)
    if base and counted[base] == 1:
        return base
    part = sketch.origins[node.writes][1] if node.writes in sketch.origins else ""
    return "_".join(word for word in (base, part or node.fn or node.kind) if word)

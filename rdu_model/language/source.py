"""A metapipe as Python in the language of metapipe.py: running it builds the same again, in the form of alone.py."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from patterns.dtypes import result_dtype
from patterns.graph import Node, Tensor
from patterns.kind import WrongShape, has, kind_of
from patterns.move import move_of
from rdu_model.language.alone import alone
from rdu_model.pipe import ITERATION, Item, Load, Metapipe, Pipe, Reorder, Stage, Store, steps

_REGIONS = {"input": "input_region", "weight": "weight_region", "state": "state_region", "output": "output_region"}
# Arguments that inference adds, or that the language has its own words for.
_OWN_WORDS = frozenset({"extents", "order", "to"})


def write_metapipe(metapipe: Metapipe) -> str:
    """Python that builds `alone(metapipe)` as `pipeline`. Raises UserError for what the language cannot say."""
    one = alone(metapipe)
    source = _Source(one, {node.name: node for node in one.of_block.nodes})
    lines = ["from rdu_model import Metapipeline", "", f"p = Metapipeline({one.name!r})"]
    lines += [source.region(tensor) for tensor in one.graph.tensors if tensor.role in _REGIONS]
    lines += source.body(one.body, {}, 0)
    return "\n".join([*lines, "pipeline = p.build()", ""])


@dataclass
class _Source:
    """What was written so far. tiles: variables by item; regions: variables by tensor; taken: all of them."""

    metapipe: Metapipe
    nodes: dict[str, Node]
    tiles: dict[str, str] = field(default_factory=dict)
    regions: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: {"p", "pipeline", "Metapipeline"})

    def variable(self, name: str) -> str:
        """A new variable that looks like a name."""
        stem = re.sub(r"\W", "_", name, flags=re.ASCII)
        stem = f"_{stem}" if stem[:1].isdigit() or keyword.iskeyword(stem) else stem
        number, found = 2, stem
        while found in self.taken:
            found, number = f"{stem}_{number}", number + 1
        self.taken.add(found)
        return found

    def region(self, tensor: Tensor) -> str:
        """The statement that declares a region."""
        variable = self.regions[tensor.name] = self.variable(tensor.name)
        shape = tuple(self.metapipe.graph.shape(tensor.name))
        each = ", each=True" if tensor.block else ""
        arguments = f"{tensor.name!r}, {' '.join(tensor.dims)!r}, {shape}, {tensor.dtype!r}{each}"
        return f"{variable} = p.{_REGIONS[tensor.role]}({arguments})"

    def body(self, items: tuple[Item, ...], cut: dict[str, int], indent: int) -> Iterator[str]:
        """The statements of a body; cut: extents of the dims that the pipes around it cut."""
        space = "    " * indent
        for item in items:
            if not isinstance(item, Pipe):
                yield from (space + line for line in self.item(item, cut))
                continue
            if item.dim == ITERATION:
                yield f"{space}with p.iterations({self.metapipe.iterations}):"
            else:
                count = steps(item, cut.get(item.dim, self.metapipe.sizes[item.dim]))
                drain = ", drain=True" if item.drain else ""
                yield f"{space}with p.metapipe({count}, over={item.dim!r}, tile={item.extent}{drain}):"
            yield from self.body(item.body, cut | {item.dim: item.extent}, indent + 1)
            if item.dim == ITERATION:
                yield from (f"{space}    {line}" for line in self.carries())

    def carries(self) -> Iterator[str]:
        """What iterations hand on."""
        for carry in self.metapipe.carries:
            into = f", into={self.regions[carry.tensor]}" if carry.stored else ""
            depth = f", depth={carry.slots}" if carry.slots != 2 else ""
            before = self.regions[carry.name.removeprefix("carry ")]
            yield f"p.carry({before}, {self.tiles[carry.source]}{into}{depth})"

    def item(self, item: Item, cut: dict[str, int]) -> Iterator[str]:
        """The statements of one item."""
        if isinstance(item, Load):
            yield self.load(item, cut)
        elif isinstance(item, Store):
            yield self.store(item)
        else:
            assert isinstance(item, Stage | Reorder)
            call = self.stage(item)
            variable = self.tiles[item.name] = self.variable(item.name)
            yield f"{variable} = {call}"
        depth = dict(self.metapipe.depths).get(item.name)
        if depth:
            yield f"p.buffer({self.tiles[item.name]}, depth={depth})"

    def load(self, load: Load, cut: dict[str, int]) -> str:
        """A stream: of what the pipes cut its tensor into, of a table whole along the dim that is looked up."""
        graph = self.metapipe.graph
        along = {
            node.along
            for node in self.nodes.values()
            if load.after and graph.tensor_named[load.tensor].name in node.reads
        }
        sizes = {**graph.sizes} | {dim: extent for dim, extent in cut.items() if dim not in along}
        shape = tuple(sizes[dim] for dim in graph.tensor_named[load.tensor].dims)
        variable = self.tiles[load.name] = self.variable(load.name)
        streams = "None" if not load.row_par else f"{load.row_par}"
        index = f", at={self.tiles[load.after]}" if load.after else ""
        return f"{variable} = p.load_tile({self.regions[load.tensor]}, {shape}, {streams}{index}, name={load.name!r})"

    def store(self, store: Store) -> str:
        """A stream out; of a state's rows, what it is read by from then on."""
        tensor, tile = self.metapipe.graph.tensor_named[store.tensor], self.tiles[store.source]
        if not tensor.shares:
            return f"p.store_tile({self.regions[store.tensor]}, {tile})"
        variable = self.regions[store.tensor] = self.variable(store.tensor)
        return f"{variable} = p.store_tile({self.regions[tensor.shares]}, {tile})"

    def stage(self, item: Stage | Reorder) -> str:
        """The call that makes a stage, by what its kind does."""
        node = self.nodes[item.name]
        tiles = [
            self.tiles[names[-1]] if names else self.regions[read]
            for names, read in zip(item.sources, node.reads, strict=True)
        ]
        words = dict(node.arguments)
        extra = [f"{name}={value!r}" for name, value in words.items() if name not in _OWN_WORDS]
        along = [f"along={node.along!r}"] if node.along else []
        extra += [f"pcus={item.pcus}"] if isinstance(item, Stage) and item.pcus else []
        extra += [*self.declared(node), f"name={node.name!r}"]
        if has(node, "contracts"):
            return _call("mat_mul", [*tiles, f"over={' '.join(node.over)!r}"], extra)
        new = {dim: self.metapipe.graph.sizes[dim] for dim in str(words.get("to", "")).split()}
        if has(node, "reduces"):
            kept = [f"to={new}", f"kind={node.kind!r}"] if new else []
            over = [repr(node.fn), *tiles, repr(" ".join(node.over))]
            return _call("select" if new else "reduce", over, [*kept, *extra])
        if has(node, "communicates"):
            return _call("all_reduce", [*tiles, str(self.metapipe.graph.sizes[node.along])], extra)
        if has(node, "updates"):
            return _call("scatter", [*tiles, repr(node.along), repr(node.fn)], extra)
        if has(node, "indexes"):
            in_place = ["in_place=True"] if isinstance(item, Reorder) else []
            return _call("gather", [*tiles, repr(node.along)], [*in_place, *extra])
        if has(node, "carries"):
            return _call("scan", [repr(node.fn), *tiles, *along], extra)
        if self.metapipe.graph.tensor_named[node.writes].shares:
            return _call("keep", tiles, extra)
        if not has(node, "moves"):
            return _call("map" if len(tiles) == 1 else "zip", [repr(node.fn), *tiles], extra)
        if move_of(node).JOINS:
            return _call("concat", tiles, [f"to={new}", *along, *extra])
        order = [repr(words["order"])] if "order" in words else [f"pattern={node.fn!r}", *along]
        return _call("buffer", [*tiles, *order, *([f"to={new}"] if new else [])], extra)

    def declared(self, node: Node) -> Iterator[str]:
        """What has to be said of a result because its kind would make something else."""
        graph = self.metapipe.graph
        tensor, operands = graph.tensor_named[node.writes], [graph.tensor_named[name] for name in node.reads]
        try:
            made = kind_of(node).output(node, operands, None)
        except WrongShape:
            made = Tensor(node.writes, (), result_dtype(operand.dtype for operand in operands), "intermediate")
        if made.dims != tensor.dims and not has(node, "moves"):
            yield f"dims={' '.join(tensor.dims)!r}"
        if made.dtype != tensor.dtype and tensor.role != "output":
            yield f"dtype={tensor.dtype!r}"


def _call(method: str, first: list[str], then: list[str]) -> str:
    return f"p.{method}({', '.join([*first, *then])})"

"""A graph file that is changed before it is read: an imported model is a ready-made graph with its differences.

Everything here works on what the file says (names, expressions, nodes as written), so that the result can be written
as a file again, with its expressions. Nothing is checked: whoever reads the result does that.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from string import Template
from typing import Any, cast

from patterns.graph import Graph
from patterns.graph_file.reread import Rereading
from patterns.load import Document, load_file, load_text
from patterns.plugin import data_file

Data = dict[str, Any]
NONE: Mapping[str, str] = {}


class _All:
    """Every name."""

    def __contains__(self, name: object) -> bool:
        return True


ALL = _All()
# The element type in which ready-made graphs are written.
WRITTEN_DTYPE = "bf16"


@dataclass(frozen=True)
class Draft:
    """A graph file with `blocks`. Every change gives a new draft; the document tells where in the file things were."""

    document: Document

    @property
    def data(self) -> Data:
        """What the file says, to be read only."""
        return cast(Data, self.document.data)

    @property
    def text(self) -> str:
        """The draft as a graph file."""
        from patterns.graph_file.write_draft import draft_text

        return draft_text(self.data)

    def graph(self, overrides: Mapping[str, str] = NONE) -> Graph:
        """The graph. Raises as `read_graph` does."""
        return self._rereading.graph(overrides)

    @cached_property
    def _rereading(self) -> Rereading:
        return Rereading(self.document)

    def changed(self, change: Callable[[Data], object]) -> Draft:
        """The draft after `change` has changed a copy of its data."""
        data = deepcopy(self.data)
        change(data)
        return replace(self, document=replace(self.document, data=data))

    def titled(self, name: str, source: str) -> Draft:
        """The draft under another name, with a source."""
        rest = {key: value for key, value in self.data.items() if key not in ("name", "source")}
        return replace(self, document=replace(self.document, data={"name": name, "source": source, **rest}))

    def extents(self, **values: int | str) -> Draft:
        """The draft with these extents set, and with those that it did not have."""
        return self.changed(lambda data: data["extents"].update(values))

    def weights(self, block: str, **dims: str) -> Draft:
        """The draft with more weights in a block; dims are names with spaces between."""
        made = {name: {"dims": text.split(), "dtype": WRITTEN_DTYPE, "role": "weight"} for name, text in dims.items()}
        return self.changed(lambda data: _tensors(data, block).update(made))

    def outer_weights(self, **dims: str) -> Draft:
        """The draft with more weights of the whole graph; dims are names with spaces between."""
        made = {name: {"dims": text.split(), "dtype": WRITTEN_DTYPE, "role": "weight"} for name, text in dims.items()}
        return self.changed(lambda data: data["tensors"].update(made))

    def block_tensors(self, block: str, tensors: Mapping[str, Any]) -> Draft:
        """The draft with more tensors in a block, as a file declares them."""
        return self.changed(lambda data: _tensors(data, block).update(deepcopy(dict(tensors))))

    def without_extents(self, *names: str) -> Draft:
        """The draft without some extents."""
        return self.changed(lambda data: [data["extents"].pop(name) for name in names])

    def inputs(self, dtype: str, **dims: str) -> Draft:
        """The draft with more inputs; dims are names with spaces between."""
        made = {name: {"dims": text.split(), "dtype": dtype, "role": "input"} for name, text in dims.items()}
        return self.changed(lambda data: data["tensors"].update(made))

    def tensor(self, name: str, **fields: Any) -> Draft:
        """The draft with fields of a declared tensor replaced."""
        return self.changed(lambda data: _declared(data)[name].update(fields))

    def node(self, name: str, **fields: Any) -> Draft:
        """The draft with fields of a node replaced."""
        return self.changed(lambda data: _nodes(data)[name].update(fields))

    def each_node(self, fn: str, **fields: Any) -> Draft:
        """The draft with fields replaced of every node of a function."""

        def change(data: Data) -> None:
            for node in _nodes(data).values():
                if node.get("fn") == fn:
                    node.update(fields)

        return self.changed(change)

    def after(self, node: str, nodes: str, **names: str) -> Draft:
        """The draft with nodes (YAML, ${name} for each of `names`) after one, whose readers read the last of them."""
        made = written_nodes(nodes, **names)
        last = list(made)[-1]
        renamed = self.reading({node: last})
        return renamed.changed(lambda data: _put(data, (node,), {node: self._node(node), **made}))

    def instead(self, nodes: Iterable[str], others: str, **names: str) -> Draft:
        """The draft with nodes (YAML) in the place of some; others may read results of names that stay."""
        return self.instead_nodes(nodes, written_nodes(others, **names))

    def instead_nodes(self, nodes: Iterable[str], others: Mapping[str, Any]) -> Draft:
        """The same with nodes as a file has them."""
        return self.changed(lambda data: _put(data, tuple(nodes), deepcopy(dict(others))))

    def without_nodes(self, *nodes: str) -> Draft:
        """The draft without some nodes."""
        return self.changed(lambda data: _put(data, nodes, {}))

    def before_readers(self, name: str, nodes: str, **names: str) -> Draft:
        """The draft with nodes (YAML) before the first that reads a tensor; all its readers read the last of them."""
        made = written_nodes(nodes, **names)
        first = next(node for node, fields in _nodes(self.data).items() if name in fields["reads"])
        renamed = self.reading({name: list(made)[-1]})
        return renamed.changed(lambda data: _put(data, (first,), {**made, first: renamed._node(first)}))

    def reading(self, renamed: Mapping[str, str], of: Container[str] = ALL) -> Draft:
        """The draft whose nodes (of: some of them), and what blocks carry, read other tensors than of these names."""

        def change(data: Data) -> None:
            for node, fields in _nodes(data).items():
                if node in of:
                    fields["reads"] = [renamed.get(name, name) for name in fields["reads"]]
            for block in data["blocks"].values() if of is ALL else ():
                if "carried" in block:
                    block["carried"] = {inside: renamed.get(name, name) for inside, name in block["carried"].items()}

        return self.changed(change)

    def without_unread(self) -> Draft:
        """The draft without inputs that nobody reads."""
        read = {name for node in _nodes(self.data).values() for name in node["reads"]}
        inputs = [name for name, tensor in self.data["tensors"].items() if tensor["role"] == "input"]
        return self.changed(lambda data: [data["tensors"].pop(name) for name in inputs if name not in read])

    def of_dims(self, block: str, renamed: Mapping[str, str]) -> Draft:
        """The draft with dims of a block's tensors and nodes called otherwise."""

        def change(data: Data) -> None:
            found = data["blocks"][block]
            for tensor in found.get("tensors", {}).values():
                tensor["dims"] = [renamed.get(dim, dim) for dim in tensor["dims"]]
            for node in found["nodes"].values():
                if "over" in node:
                    node["over"] = [renamed.get(dim, dim) for dim in node["over"]]
                if "along" in node:
                    node["along"] = renamed.get(node["along"], node["along"])

        return self.changed(change)

    def without_tensor(self, name: str) -> Draft:
        """The draft without a declared tensor."""

        def change(data: Data) -> None:
            assert name in _declared(data), f"the graph declares no tensor {name}"
            for owner in (data, *data["blocks"].values()):
                owner.get("tensors", {}).pop(name, None)

        return self.changed(change)

    def of_dtype(self, dtype: str) -> Draft:
        """The draft with another element type where it is written in bf16."""

        def change(data: Data) -> None:
            for tensor in _declared(data).values():
                if tensor["dtype"] == WRITTEN_DTYPE:
                    tensor["dtype"] = dtype
            for node in _nodes(data).values():
                if node.get("dtype") == WRITTEN_DTYPE:
                    node["dtype"] = dtype

        return self.changed(change)

    def _node(self, name: str) -> Data:
        return dict(_nodes(self.data)[name])


def library_draft(name: str) -> Draft:
    """A ready-made graph as a draft. Raises UnknownName."""
    return Draft(load_file(data_file("patterns.library", name, ".yaml", "graph")))


def written_nodes(text: str, **names: str) -> Data:
    """Nodes by name from YAML in which ${x} stands for what `names` says."""
    return cast(Data, load_text(Template(text).substitute(names), "nodes").data)


def _tensors(data: Data, block: str) -> Data:
    owner = data["blocks"][block]
    owner.setdefault("tensors", {})
    return cast(Data, owner["tensors"])


def _declared(data: Data) -> Data:
    """Every declared tensor by name."""
    return {name: t for owner in (data, *data["blocks"].values()) for name, t in owner.get("tensors", {}).items()}


def _nodes(data: Data) -> Data:
    """Every node by name."""
    return {name: node for block in data["blocks"].values() for name, node in block["nodes"].items()}


def _put(data: Data, gone: tuple[str, ...], made: Data) -> None:
    """Puts nodes in the place of the first of those that go."""
    missing = [name for name in gone if name not in _nodes(data)]
    assert not missing, f"the graph has no nodes {missing}"
    for block in data["blocks"].values():
        if gone[0] in block["nodes"]:
            put: Data = {}
            for name, node in block["nodes"].items():
                put |= made if name == gone[0] else {} if name in gone else {name: node}
            block["nodes"] = put

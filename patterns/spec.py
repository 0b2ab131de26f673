"""What a graph file may say: pydantic models, strict. Kinds extend NodeSpec; the union over them is the folder's.

Names are words (letters, digits and _, not starting with a digit): `no` and `on` are names, `10` is not.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from keyword import iskeyword
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from patterns.arithmetic import FUNCTIONS
from patterns.dtypes import DTYPE_BYTES
from patterns.errors import did_you_mean
from patterns.graph import Node
from patterns.yaml_tree import Path

_LONGEST_NAME = 100
_NODE_FIELDS = frozenset({"kind", "reads", "writes", "fn", "over", "along"})
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)


def _extent(value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("extent_type", "a whole number or an expression is due")
    return value


def _known_dtype(name: str) -> str:
    if name not in DTYPE_BYTES:
        raise ValueError(f"unknown dtype {name!r}{did_you_mean(name, DTYPE_BYTES)}; there is: {', '.join(DTYPE_BYTES)}")
    return name


def _extent_name(name: str) -> str:
    if iskeyword(name) or name in FUNCTIONS:
        raise ValueError(f"{name!r} means something else in expressions; call the extent otherwise")
    return name


def _graph_name(name: str) -> str:
    if not _DOTTED.fullmatch(name):
        raise ValueError(f"a name is due (letters, digits, _ . and -, starting with a letter), found the text {name!r}")
    return name


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=_LONGEST_NAME)]
GraphName = Annotated[str, StringConstraints(max_length=_LONGEST_NAME), AfterValidator(_graph_name)]
ExtentName = Annotated[Name, AfterValidator(_extent_name)]
Extent = Annotated[int | str, PlainValidator(_extent)]
DType = Annotated[str, AfterValidator(_known_dtype)]
_SOME = Field(min_length=1)


class Strict(BaseModel):
    """Nothing is converted, nothing unknown is accepted."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class TensorSpec(Strict):
    """A tensor as written: its dims, outermost first, are names of extents."""

    dims: list[Name]
    dtype: DType
    role: Literal["input", "weight", "state", "output", "intermediate"]


class NodeSpec(Strict):
    """A node as written. Kinds add their own fields.

    `fn`, `over` and `along` become the fields of Node; every other field that is given is one of its arguments.
    `writes` is the tensor it makes, the node's own name if not given.
    """

    kind: str
    reads: list[Name]
    writes: Name | None = None


class BlockSpec(Strict):
    """A block as written. With `count` (a number or an expression of extents) its body is repeated.

    carried: result by what it is read as in the next iteration.
    """

    count: Extent | None = None
    carried: dict[Name, Name] = {}
    tensors: dict[Name, TensorSpec] = {}
    nodes: Annotated[dict[Name, NodeSpec], _SOME]


class GraphSpec(Strict):
    """A graph file: either `nodes`, which are one block named like the graph, or `blocks`.

    requires: conditions on the extents, such as `fft >= 2 * seq`.
    """

    name: GraphName
    source: str | None = None
    extents: dict[ExtentName, Extent] = {}
    requires: list[str] = []
    tensors: dict[Name, TensorSpec] = {}
    nodes: Annotated[dict[Name, NodeSpec], _SOME] | None = None
    blocks: Annotated[dict[Name, BlockSpec], _SOME] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> GraphSpec:
        if (self.nodes is None) == (self.blocks is None):
            raise ValueError(f"write either nodes or blocks, found {'neither' if self.nodes is None else 'both'}")
        return self


@cache
def graph_model() -> type[GraphSpec]:
    """GraphSpec whose nodes are those of the kinds in the folder, told apart by `kind`."""
    from patterns.kind import kind_named, kind_names

    members: list[Any] = [Annotated[kind_named(name).Spec, Tag(name)] for name in kind_names()]
    node: Any = Annotated[reduce(or_, members), Discriminator(kind)]
    nodes: Any = Annotated[dict[Name, node], _SOME]
    block = create_model("BlockSpec", __base__=BlockSpec, nodes=(nodes, ...))
    blocks: Any = Annotated[dict[Name, block], _SOME] | None
    return create_model("GraphSpec", __base__=GraphSpec, nodes=(nodes | None, None), blocks=(blocks, None))


def kind(given: object) -> str | None:
    """The kind of a node as written; None if it has none that is text."""
    found = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return found if isinstance(found, str) else None


def blocks_of(spec: GraphSpec) -> list[tuple[Path, str, BlockSpec]]:
    """(path in the file, name, block) of every block."""
    if spec.blocks is None:
        return [((), spec.name, BlockSpec(nodes=spec.nodes or {}))]
    return [(("blocks", name), name, block) for name, block in spec.blocks.items()]


def node_of(name: str, spec: NodeSpec) -> Node:
    """A node as its file says, before anything is inferred."""
    given = {key: getattr(spec, key) for key in spec.model_fields_set}
    arguments = {key: value for key, value in given.items() if key not in _NODE_FIELDS and value is not None}
    return Node(
        name,
        spec.kind,
        getattr(spec, "fn", None) or "",
        tuple(spec.reads),
        spec.writes or name,
        tuple(getattr(spec, "over", None) or ()),
        getattr(spec, "along", None) or "",
        tuple(sorted(arguments.items())),
    )

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
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from patterns.arithmetic import FUNCTIONS
from patterns.documents.yaml_tree import Path
from patterns.dtypes import DTYPE_BITS, SPELLED_ELSEWHERE
from patterns.errors import did_you_mean
from patterns.graph import Node

_LONGEST_NAME = 100
_NODE_FIELDS = frozenset({"kind", "reads", "writes", "fn", "over", "along"})
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)


def _extent(value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("extent_type", "a whole number or an expression is due")
    return value


def _known_dtype(name: str) -> str:
    if name not in DTYPE_BITS:
        here = SPELLED_ELSEWHERE.get(name.lower())
        hint = f" (here {here!r})" if here else did_you_mean(name, DTYPE_BITS)
        raise ValueError(f"unknown dtype {name!r}{hint}; there is: {', '.join(DTYPE_BITS)}")
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
# What an editor is told of those that are checked by functions of ours.
Extent = Annotated[int | str, PlainValidator(_extent), WithJsonSchema({"type": ["integer", "string"]})]
DType = Annotated[str, AfterValidator(_known_dtype), WithJsonSchema({"type": "string", "enum": [*DTYPE_BITS]})]
_SOME = Field(min_length=1)


class Strict(BaseModel):
    """Nothing is converted, nothing unknown is accepted. Texts below fields are what editors show of them."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class TensorSpec(Strict):
    """A tensor as written: its dims, outermost first, are names of extents."""

    dims: list[Name]
    """Names of extents, outermost first."""
    dtype: DType
    """Type of the elements."""
    role: Literal["input", "weight", "state", "output", "intermediate"]
    """input, weight, state: given before a run. output: what the run is for. intermediate: everything else."""


class NodeSpec(Strict):
    """A node as written. Kinds add their own fields.

    `fn`, `over` and `along` become the fields of Node; every other field that is given is one of its arguments.
    `writes` is the tensor it makes, the node's own name if not given.
    """

    kind: str
    """Which pattern this is."""
    reads: list[Name]
    """Tensors, in order; one may be read twice."""
    writes: Name | None = None
    """The tensor it makes, named like the node if not given."""


class BlockSpec(Strict):
    """A block as written. With `count` its body is repeated."""

    count: Extent | None = None
    """How often the body is executed: a number or an expression of extents."""
    carried: dict[Name, Name] = {}
    """{read: result}: what the body makes, by the name under which its next execution reads it."""
    tensors: dict[Name, TensorSpec] = {}
    """Weights and states of the body's own: there are `count` of each."""
    nodes: Annotated[dict[Name, NodeSpec], _SOME]
    """Patterns by name."""


class JoinSpec(Strict):
    """How the results of several executions become one tensor."""

    along: Name
    """The dim of theirs along which they follow one another."""
    to: Name
    """The extent of ours that it becomes."""


class UseSpec(Strict):
    """Blocks of another graph, in the place of a block. What they name is called NAME_..., after the block's own name.

    Its results and its extents are read as NAME_result and NAME_extent. The whole graph is used, or one block of it.
    """

    use: str
    """A graph in YAML, by its path from this file, or a workload of the library."""
    block: Name | None = None
    """The one block that is used."""
    count: Extent | None = None
    """How often that block is executed, if not as often as its own file says."""
    extents: dict[Name, Extent] = {}
    """Extents of the other graph, as expressions of ours. The name of one of ours alone: they are the same dim."""
    reads: dict[Name, Name] = {}
    """{theirs: ours}: which of our tensors stands for a tensor of the other graph."""
    times: Extent | None = None
    """How often all that is used is executed, one time after another, as NAME_1, NAME_2 ... with the same weights."""
    carried: dict[Name, Name] = {}
    """{theirs: result}: what each time but the first reads of the one before."""
    joined: dict[Name, JoinSpec] = {}
    """{result: {along: dim, to: extent}}: results of all times as one tensor, NAME_result."""


class AgainSpec(Strict):
    """The blocks that another block uses, executed once more on other operands: dims, weights and states are those."""

    again: Name
    """A block above that says what is used."""
    reads: dict[Name, Name] = {}
    """{theirs: ours}: which of our tensors stands for a tensor of the other graph."""


Entry = BlockSpec | UseSpec | AgainSpec


class GraphSpec(Strict):
    """A graph file: either `nodes`, which are one block named like the graph, or `blocks`."""

    name: GraphName
    """What the graph is called in tables and pictures."""
    source: str | None = None
    """Where its shapes are from."""
    extents: dict[ExtentName, Extent] = {}
    """The size of every dim, by name: a number, or an expression of other extents such as hidden // heads."""
    requires: list[str] = []
    """Conditions on the extents, such as fft >= 2 * seq."""
    tensors: dict[Name, TensorSpec] = {}
    """Inputs, weights, states and outputs; what lies between them follows from the nodes."""
    nodes: Annotated[dict[Name, NodeSpec], _SOME] | None = None
    """Patterns by name, of a graph that repeats nothing."""
    blocks: Annotated[dict[Name, Entry], _SOME] | None = None
    """Groups of nodes by name, in order; one with a count is repeated, one with `use` is of another graph."""

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
    return graph_of(Annotated[reduce(or_, members), Discriminator(kind)])


def graph_of(node: Any) -> type[GraphSpec]:
    """GraphSpec whose nodes are of the type `node`."""
    nodes: Any = Annotated[dict[Name, node], _SOME]
    block = create_model("BlockSpec", __base__=BlockSpec, nodes=(nodes, ...))
    forms: Any = Annotated[block, Tag("block")] | Annotated[UseSpec, Tag("use")] | Annotated[AgainSpec, Tag("again")]
    blocks: Any = Annotated[dict[Name, Annotated[forms, Discriminator(_form)]], _SOME] | None
    return create_model("GraphSpec", __base__=GraphSpec, nodes=(nodes | None, None), blocks=(blocks, None))


def _form(given: object) -> str:
    """Which form of an entry under `blocks` this is."""
    held = given if isinstance(given, dict) else type(given).model_fields if isinstance(given, BaseModel) else {}
    return next((form for form in ("use", "again") if form in held), "block")


def kind(given: object) -> str | None:
    """The kind of a node as written; None if it has none that is text."""
    found = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return found if isinstance(found, str) else None


def blocks_of(spec: GraphSpec) -> list[tuple[Path, str, Entry]]:
    """(path in the file, name, block) of every block, and of every use of another graph's."""
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

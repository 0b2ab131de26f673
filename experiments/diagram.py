"""A graph as boxes, arrows and frames: what a drawing shows, in no format yet.

Every pattern is a box, with the weights it reads named in it; inputs and states are boxes of their own. A block is a
frame, drawn once however often it is repeated. With a plan, the nodes of one call have a frame too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from patterns.graph import Block, Graph, Node, Tensor
from patterns.kind import Trait, kind_of
from patterns.plan import Call, Plan
from patterns.plural import number_of


@dataclass(frozen=True)
class Look:
    """How boxes of one sort are drawn. fill, line: colours that are told apart with any eyes, and in grey."""

    about: str
    fill: str
    line: str = "#333333"
    shape: str = "box"


# By the first of these traits that a kind has. The colours are tints of Okabe and Ito's.
BY_TRAIT: Mapping[Trait, Look] = {
    "contracts": Look("matrix product", "#8ecbf0"),
    "reduces": Look("reduction over a dim", "#f5ec83"),
    "carries": Look("recurrence along a dim", "#7fceb9"),
    "indexes": Look("lookup or write by index", "#f3c878"),
    "communicates": Look("sum over members", "#e3b3cd"),
    "moves": Look("same elements, moved", "#dddddd"),
    "elementwise": Look("element by element", "#ffffff"),
}
OTHER = Look("other pattern", "#ffffff")
BY_ROLE: Mapping[str, Look] = {
    "input": Look("input", "#ffffff", "#0072b2", "ellipse"),
    "output": Look("output", "#ffffff", "#d55e00", "ellipse"),
    "state": Look("state, kept from run to run", "#f4f4f4", "#0072b2", "cylinder"),
}


@dataclass(frozen=True)
class Box:
    """One box: its name among all boxes, its lines, the first of them its title."""

    key: str
    lines: tuple[str, ...]
    look: Look


@dataclass(frozen=True)
class Arrow:
    """Data from a box to another. again: to the next execution of a repeated block. label: the tensor, if need be."""

    start: str
    end: str
    label: str = ""
    again: bool = False


@dataclass(frozen=True)
class Frame:
    """Boxes and frames in a frame. repeated: a block that is executed several times. call: nodes that are one call."""

    title: str
    items: tuple[Box | Frame, ...]
    repeated: bool = False
    call: bool = False


@dataclass(frozen=True)
class Diagram:
    """A whole drawing. notes: what is to be said below the title."""

    title: str
    notes: tuple[str, ...]
    items: tuple[Box | Frame, ...]
    arrows: tuple[Arrow, ...]

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Every box, in order."""
        return tuple(boxes_in(self.items))

    @property
    def looks(self) -> tuple[Look, ...]:
        """The looks that are used, in the order of their definition."""
        used = {box.look for box in self.boxes}
        known = (*BY_ROLE.values(), *BY_TRAIT.values(), OTHER)
        return (*(look for look in known if look in used), *sorted(used - set(known), key=lambda look: look.about))


def boxes_in(items: tuple[Box | Frame, ...]) -> Iterator[Box]:
    """The boxes among items and in their frames."""
    for item in items:
        if isinstance(item, Box):
            yield item
        else:
            yield from boxes_in(item.items)


def diagram_of(graph: Graph, plan: Plan | None = None) -> Diagram:
    """The drawing of a graph; with a plan, with a frame around the nodes of each call."""
    calls = plan.calls if plan else ()
    outside = [given_box(tensor) for tensor in drawn_tensors(graph) if not tensor.block]
    blocks = [block_frame(graph, block, calls) for block in graph.blocks]
    ends = [end_box(graph.tensor_named[name]) for name in sorted_results(graph)]
    # Frames nest: of calls over several blocks only one that holds them all can have one.
    across = [call for call in calls if not call.block and call.nodes]
    alone = len(across) == 1 and set(across[0].nodes) == {node.name for _, node in graph.nodes()}
    middle = (Frame(call_title(across[0]), tuple(blocks), call=True),) if alone else tuple(blocks)
    return Diagram(graph.name, notes_of(graph, plan), (*outside, *middle, *ends), tuple(arrows(graph)))


def notes_of(graph: Graph, plan: Plan | None) -> tuple[str, ...]:
    """What the drawing is of."""
    if plan is None:
        return ()
    in_all = sum(call.count for call in plan.calls)
    how = f"{plan.members} x {plan.machine}, {plan.mode}: {number_of(in_all, 'call')} a run"
    return (how, "a frame with a grey ground is one call; a box in no such frame is a call of its own")


def drawn_tensors(graph: Graph) -> list[Tensor]:
    """Inputs and states that some node reads; weights stand in the boxes of their readers."""
    return [t for t in graph.tensors if t.role in ("input", "state") and not t.shares and graph.readers(t.name)]


def sorted_results(graph: Graph) -> list[str]:
    """Outputs, in order."""
    return [tensor.name for tensor in graph.tensors if tensor.role == "output" and tensor.name in graph.results]


def given_box(tensor: Tensor) -> Box:
    """The box of an input or a state."""
    return Box(tensor_key(tensor.name), (tensor.name, type_text(tensor)), BY_ROLE[tensor.role])


def end_box(tensor: Tensor) -> Box:
    """The box of an output."""
    return Box(end_key(tensor.name), (tensor.name, type_text(tensor)), BY_ROLE["output"])


def node_box(graph: Graph, node: Node) -> Box:
    """The box of a pattern: its name, what it does with which weights, what it makes."""
    weights = [name for name in dict.fromkeys(node.reads) if graph.tensor_named[name].role == "weight"]
    over = f" over {' '.join(node.over)}" if node.over else f" along {node.along}" if node.along else ""
    lines = [node.name, f"{node.kind} {node.fn}".strip() + over]
    if weights:
        lines.append(f"weight {', '.join(weights)}")
    return Box(node_key(node.name), (*lines, type_text(graph.tensor_named[node.writes])), look_of(node))


def look_of(node: Node) -> Look:
    """How a pattern is drawn."""
    traits = kind_of(node).TRAITS
    return next((look for trait, look in BY_TRAIT.items() if trait in traits), OTHER)


def type_text(tensor: Tensor) -> str:
    """bf16 [rows columns]."""
    return f"{tensor.dtype} [{' '.join(tensor.dims)}]"


def block_frame(graph: Graph, block: Block, calls: tuple[Call, ...]) -> Frame:
    """A block, and in it a frame for each call of several of its nodes."""
    items: list[Box | Frame] = [given_box(t) for t in drawn_tensors(graph) if t.block == block.name]
    boxes = {node.name: node_box(graph, node) for node in block.nodes}
    for call in calls:
        held = [name for name in call.nodes if name in boxes]
        if call.block == block.name and len(held) > 1:
            items.append(Frame(call_title(call), tuple(boxes.pop(name) for name in held), call=True))
    title = f"{block.name} x {block.count}" if block.count > 1 else block.name
    return Frame(title, (*items, *boxes.values()), repeated=block.count > 1)


def call_title(call: Call) -> str:
    """A call, and how many executions of its block are in it."""
    return f"{call.name}, {call.iterations} executions" if call.iterations > 1 else call.name


def arrows(graph: Graph) -> Iterator[Arrow]:
    """Every read of an input, a state or a result; what goes round in a block; and what becomes an output."""
    makers = {node.writes: node for _, node in graph.nodes()}
    for block, node in graph.nodes():
        results = dict(block.carried)
        for name in dict.fromkeys(node.reads):
            if name in makers:
                label = name if makers[name].name != name else ""
                yield Arrow(node_key(makers[name].name), node_key(node.name), label)
            elif graph.tensor_named[name].role != "weight":
                yield Arrow(tensor_key(name), node_key(node.name))
            if name in results and block.count > 1:
                yield Arrow(node_key(makers[results[name]].name), node_key(node.name), again=True)
    for name in sorted_results(graph):
        yield Arrow(node_key(makers[name].name), end_key(name))


def node_key(name: str) -> str:
    """The name of a pattern's box."""
    return f"node {name}"


def tensor_key(name: str) -> str:
    """The name of a tensor's box."""
    return f"tensor {name}"


def end_key(name: str) -> str:
    """The name of an output's box."""
    return f"output {name}"


Numbered = Callable[[str], str]


def numbered(diagram: Diagram) -> Numbered:
    """Short names of boxes that mean nothing in any format: b0, b1 ..."""
    numbers = {box.key: f"b{number}" for number, box in enumerate(diagram.boxes)}
    return numbers.__getitem__

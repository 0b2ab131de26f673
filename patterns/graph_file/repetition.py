"""What is used of another graph, executed several times, one time after another, and its results as one tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from patterns.documents.yaml_tree import Path
from patterns.errors import Mistake, did_you_mean
from patterns.expression import ExpressionError, evaluate
from patterns.graph import Block, Node
from patterns.graph_file.piece import HELD, Piece, held, needed, piece
from patterns.graph_file.spec import JoinSpec, UseSpec
from patterns.kind import WrongShape, kind_of
from patterns.load import Document

MOST_TIMES = 64


@dataclass(frozen=True)
class Repetition:
    """An entry that uses another graph, and the piece that is one execution of it."""

    name: str
    entry: UseSpec
    first: Piece
    document: Document
    sizes: Mapping[str, int]
    mistakes: list[Mistake]

    def refuse(self, path: Path, message: str, *, key: bool = False) -> None:
        at = self.document.at_key if key else self.document.at
        self.mistakes.append(at(("blocks", self.name, *path), message))

    def pieces(self, times: int) -> dict[str, Piece]:
        """Every execution, NAME_1, NAME_2 ..., and what joins their results; what has a mistake is left out."""
        if self.entry.times is None:
            for field in ("carried", "joined"):
                if getattr(self.entry, field):
                    self.refuse(
                        (field,), f"{field} is of a use that is executed several times: say how many times", key=True
                    )
            return {self.name: self.first}
        before = len(self.mistakes)
        self.check_names()
        if len(self.mistakes) > before:
            return {}
        found = {f"{self.name}_{number}": self.execution(number) for number in range(1, times + 1)}
        joined = [self.joined(result, join, times) for result, join in self.entry.joined.items()]
        return found | {f"{self.name} {one.blocks[0].name}": one for one in joined if one is not None}

    def times(self) -> int:
        """How many times; 0 after a mistake."""
        if self.entry.times is None:
            return 1
        try:
            found = evaluate(str(self.entry.times), self.sizes)
        except ExpressionError as error:
            self.mistakes.append(self.document.inside(("blocks", self.name, "times"), error.offset, str(error)))
            return 0
        if not 0 < found <= MOST_TIMES:
            self.refuse(("times",), f"a number from 1 to {MOST_TIMES} is due, found {found}")
            return 0
        return found

    def check_names(self) -> None:
        """Note what is carried or joined and is not there."""
        source, chosen = self.first.source, self.first.chosen
        read = needed(source, chosen)
        made = [node.writes for name in chosen for node in source.block_named[name].nodes]
        for inside, result in self.entry.carried.items():
            if inside in read and source.tensor_named[inside].role in HELD:
                role = source.tensor_named[inside].role
                self.refuse(("carried", inside), f"{inside!r} is a {role}, the same each time", key=True)
            elif inside not in read:
                self.refuse(
                    ("carried", inside),
                    f"{source.name} reads no tensor {inside!r}{did_you_mean(inside, read)}",
                    key=True,
                )
            if result not in made:
                self.refuse(
                    ("carried", inside), f"{source.name} makes no tensor {result!r}{did_you_mean(result, made)}"
                )
        for result, join in self.entry.joined.items():
            if result not in made:
                self.refuse(
                    ("joined", result),
                    f"{source.name} makes no tensor {result!r}{did_you_mean(result, made)}",
                    key=True,
                )
            elif join.along not in source.tensor_named[result].dims:
                dims = source.tensor_named[result].dims
                self.refuse(
                    ("joined", result, "along"), f"{result} has no dim {join.along!r}{did_you_mean(join.along, dims)}"
                )

    def execution(self, number: int) -> Piece:
        """One of the executions: after the first with its weights and states, on what the one before made."""
        first = self.first
        reads = dict(self.entry.reads)
        if number == 1:
            own = [theirs for theirs, ours in first.dims.items() if ours in first.extents]
            return piece(self.name, f"{self.name}_1", first.source, first.chosen, first.dims, reads, {}, own)
        reads |= {inside: f"{self.name}_{number - 1}_{result}" for inside, result in self.entry.carried.items()}
        tensors = self.execution(1).tensors
        same = {theirs: ours for theirs, ours in held(first.source, tensors).items() if theirs not in reads}
        return piece(self.name, f"{self.name}_{number}", first.source, first.chosen, first.dims, reads, same, ())

    def joined(self, result: str, join: JoinSpec, times: int) -> Piece | None:
        """A block of one node, which puts the results of all executions after one another; None after a mistake."""
        made = f"{self.name}_{result}"
        last = self.execution(times)
        one = next(tensor for tensor in last.made if tensor.name == last.tensors[result])
        operands = [replace(one, name=f"{self.name}_{number}_{result}") for number in range(1, times + 1)]
        along = self.first.dims[join.along]
        names = tuple(operand.name for operand in operands)
        node = Node(made, "buffer", "concat", names, made, along=along, arguments=(("to", join.to),))
        try:
            node = kind_of(node).infer(node, operands, None, {**self.sizes, **self.first.extents})
            tensor = kind_of(node).output(node, operands, None)
        except WrongShape as error:
            self.refuse(("joined", result), str(error))
            return None
        block = Block(f"{made}_joined", 1, (node,))
        tensor = replace(tensor, block=block.name)
        return Piece(self.name, self.first.source, (), self.first.dims, {}, (block,), (tensor,), {}, {})

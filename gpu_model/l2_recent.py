"""What the L2 still has when a kernel begins: tensors that kernels before it have made, if little has passed since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gpu_model.joining.legal import Group, group_spaces
from gpu_model.machine import Machine
from gpu_model.tiles.space import whole_reads, whole_writes
from patterns.count import tensor_bytes
from patterns.graph import Block, Graph
from patterns.seen import part_with_rows

# Executions of a block until what is left of the one before is what is left of any.
SETTLED = 2


def recent(graph: Graph, block: Block, groups: Sequence[Group], machine: Machine) -> Iterator[frozenset[str]]:
    """For each kernel of a block, the intermediates that it finds in the L2: as in all executions but the first.

    A tensor is there if all that was read and written since it was begun fits the L2. Weights and states of other
    executions are other bytes, so they are never found.
    """
    begun: dict[str, int] = {}  # of each tensor, bytes that had passed when its first one was made
    passed = 0
    executions = SETTLED if block.carried else 1
    moved = [_moved(part_with_rows(graph, group.nodes), group) for group in groups]
    left = [[(name, tensor_bytes(graph, name)) for name in made] for *_, made in moved]
    for execution in range(executions):
        for (reads, read_bytes, written, _), made in zip(moved, left, strict=True):
            if execution == executions - 1:
                room = machine.l2_bytes - read_bytes
                yield frozenset([name for name in reads if name in begun and passed - begun[name] <= room])
            passed += read_bytes + written
            for name, num_bytes in made:
                begun[name] = passed - num_bytes
        begun |= {into: begun[result] for into, result in block.carried if result in begun}


@lru_cache(maxsize=4096)
def _moved(part: Graph, group: Group) -> tuple[tuple[str, ...], int, int, tuple[str, ...]]:
    """What a kernel reads and how many bytes that are, bytes of all that it writes, and the intermediates among it.

    Memo for all graphs and machines. part: what its nodes see.
    """
    spaces = group_spaces(part, group)
    reads = whole_reads(spaces)
    made = (node.writes for node in group.nodes if node.writes not in group.inside)
    intermediates = tuple(name for name in made if part.tensor_named[name].role == "intermediate")
    return tuple(reads), sum(reads.values()), whole_writes(spaces), intermediates

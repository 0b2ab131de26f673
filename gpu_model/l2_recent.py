"""What the L2 still has when a kernel begins: tensors that kernels before it have made, if little has passed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from gpu_model.legal import Group, group_spaces
from gpu_model.machine import Machine
from gpu_model.space import whole_reads, whole_writes
from patterns.count import tensor_bytes
from patterns.graph import Block, Graph

# Executions of a block until what is left of the one before is what is left of any.
SETTLED = 2


def recent(graph: Graph, block: Block, groups: Sequence[Group], machine: Machine) -> Iterator[frozenset[str]]:
    """For each kernel of a block, the intermediates that it finds in the L2: as in all executions but the first.

    A tensor is there if all that was read and written since it was begun fits the L2. Weights and states of other
    executions are other bytes, so they are never found.
    """
    since: dict[str, int] = {}
    executions = SETTLED if block.carried else 1
    moved = [_moved(graph, group) for group in groups]
    for execution in range(executions):
        for group, (reads, written) in zip(groups, moved, strict=True):
            if execution == executions - 1:
                room = machine.l2_bytes - sum(reads.values())
                yield frozenset(name for name in reads if name in since and since[name] <= room)
            passed = sum(reads.values()) + written
            since = {name: num_bytes + passed for name, num_bytes in since.items()}
            made = (node.writes for node in group.nodes if node.writes not in group.inside)
            since |= {
                name: tensor_bytes(graph, name) for name in made if graph.tensor_named[name].role == "intermediate"
            }
        since |= {into: since[result] for into, result in block.carried if result in since}


@lru_cache(maxsize=4096)
def _moved(graph: Graph, group: Group) -> tuple[Mapping[str, int], int]:
    """Bytes of what a kernel reads, by tensor, and all that it writes. Memo for the machines that run a graph."""
    spaces = group_spaces(graph, group)
    return whole_reads(spaces), whole_writes(spaces)

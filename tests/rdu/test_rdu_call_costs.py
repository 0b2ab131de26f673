"""Where a block is cut depends on what a call costs: dear calls make few sections, cheap ones may make many."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from patterns.graph import Node
from patterns.read import parse_graph
from rdu_model import load_machine
from rdu_model.ask import ask
from rdu_model.cuts.cutting import Search
from rdu_model.cuts.least import Least
from rdu_model.cuts.order import lines
from rdu_model.section import Section
from rdu_model.sections import Piece, build
from rdu_model.shortage import Shortage

# A node takes so many cycles, and as many more for each that its section has before it.
NODE_CYCLES, CROWD_CYCLES = 100, 5


def chain(count: int) -> str:
    nodes = "".join(f"  k{at}: {{kind: map, fn: neg, reads: [{f'k{at - 1}' if at else 'x'}]}}\n" for at in range(count))
    return "name: chain\nextents: {n: 4}\ntensors:\n  x: {dims: [n], dtype: bf16, role: input}\nnodes:\n" + nodes


def sections(count: int, call_cycles: int) -> int:
    """How many sections a chain of so many nodes becomes."""
    graph, machine = parse_graph(chain(count), "chain.yaml", {}), load_machine("unit")
    block = graph.blocks[0]
    names = {node.name: ask(graph, node) for node in block.nodes}

    def built(nodes: Sequence[Node]) -> Section | Shortage:
        return build(Piece(graph, block, tuple(nodes), 1, 1), machine)

    def cycles(section: Section) -> int:
        held = len(section.flow.metapipe.nodes)
        return held * NODE_CYCLES + CROWD_CYCLES * held * (held - 1) // 2

    (line, *_) = lines(graph, block.nodes)
    return len(Search(line, Least(graph, machine, line.nodes, names), call_cycles, built, cycles).best())


# k sections of n / k nodes: k calls, and 5 (n / k) (n / k - 1) / 2 cycles more in each.
@pytest.mark.parametrize(("call_cycles", "expected"), [(0, 12), (4, 12), (7, 6), (1000, 1)])
def test_a_call_is_paid_for_every_section(call_cycles: int, expected: int) -> None:
    assert sections(12, call_cycles) == expected

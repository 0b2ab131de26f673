"""The least that a section of consecutive nodes takes: its bytes and its work alone, without building it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from patterns.count import tensor_bytes
from patterns.graph import Graph, Node
from rdu_model.ask import Asked
from rdu_model.homes import first_memory
from rdu_model.machine import Machine, usable_pcus
from rdu_model.price import grid


@dataclass(frozen=True)
class Least:
    """rows: for each start that was asked for, by number of nodes, the least cycles of a section from there on.

    alone: what was asked of each node.
    """

    graph: Graph
    machine: Machine
    nodes: tuple[Node, ...]
    asked: Mapping[str, Asked]
    rows: dict[int, list[int]] = field(default_factory=dict)
    alone: dict[str, tuple[tuple[int, ...], int, bool]] = field(default_factory=dict)

    def cycles(self, start: int, end: int) -> int | None:
        """Of nodes start .. end - 1, or None if there cannot be PCUs for all."""
        if start not in self.rows:
            self.rows[start] = self._row(start)
        row = self.rows[start]
        return row[end - start - 1] if end - start <= len(row) else None

    def _row(self, start: int) -> list[int]:
        """As many nodes from the start on as there can be PCUs for."""
        pcus, work, moved = usable_pcus(self.machine), 0, 0
        loaded: dict[str, int] = {}
        open_reads: dict[str, int] = {}
        row: list[int] = []
        pace = first_memory(self.machine).pace
        for node in self.nodes[start:]:
            touched, busy, works = self._alone(node)
            pcus -= works
            if pcus < 0:
                break
            work += busy
            for read, amount in zip(node.reads, touched, strict=True):
                if read not in open_reads and amount > loaded.get(read, 0):
                    moved += amount - loaded.get(read, 0)
                    loaded[read] = amount
            for read in {*node.reads} & open_reads.keys():
                open_reads[read] -= 1
                if not open_reads[read]:
                    moved -= self._hidden_bytes(read)
            open_reads[node.writes] = len(self.graph.readers(node.writes))
            if open_reads[node.writes]:
                moved += self._hidden_bytes(node.writes)
            row.append(max(pace.cycles_for(moved), work // usable_pcus(self.machine)))
        return row

    def _alone(self, node: Node) -> tuple[tuple[int, ...], int, bool]:
        """Bytes that a node reads, its cycles on one PCU, whether it needs PCUs."""
        if node.name not in self.alone:
            asked = self.asked[node.name]
            works = asked.unit_class in ("matrix", "vector")
            work = grid(asked, self.graph.sizes, self.machine).total_cycles if works else 0
            self.alone[node.name] = (asked.touched(self.graph.sizes)[0], work, works)
        return self.alone[node.name]

    def _hidden_bytes(self, tensor: str) -> int:
        """Bytes that are stored if a reader is elsewhere."""
        return 0 if self.graph.tensor_named[tensor].shares else tensor_bytes(self.graph, tensor)

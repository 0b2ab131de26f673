"""Recurrences on an RDU: a stage whose next element of a row waits for a pass of its PCU."""

from __future__ import annotations

from patterns.read import parse_graph
from rdu_model import load_machine
from rdu_model.ask import Asked, ask, relation
from rdu_model.price import cycles, grid
from rdu_model.tiles.nests import runs

SN40L = load_machine("sn40l")


def asked(rows: int, length: int) -> tuple[Asked, Asked]:
    """A scan and what reads it."""
    graph = parse_graph(
        f"name: scan\nextents: {{rows: {rows}, length: {length}}}\n"
        "tensors:\n  x: {dims: [rows, length], dtype: fp32, role: input}\n"
        "nodes:\n  y: {kind: scan, fn: sum, reads: [x], along: length}\n  z: {kind: map, fn: exp, reads: [y]}\n",
        "scan.yaml",
    )
    first, second = (ask(graph, node) for _, node in graph.nodes())
    return first, second


def test_rows_fill_the_pipeline_while_an_element_waits() -> None:
    """1,024 elements of a row wait for a pass of 8 stages each: 8,192 cycles, however many PCUs; 4,096 rows hide it."""
    scan, _ = asked(4096, 1024)
    work = grid(scan, scan.graph.sizes, SN40L)
    assert work.least_cycles == 1024 * SN40L.pcu_stages == 8192
    assert cycles(work, 1) == 4096 * 1024 // SN40L.pcu_lanes
    assert cycles(work, 1000) == 8192


def test_a_long_row_alone_is_taken_in_parts() -> None:
    scan, _ = asked(1, 65_536)
    assert grid(scan, scan.graph.sizes, SN40L).least_cycles == 2 * 16 * SN40L.pcu_stages


def test_inside_a_loop_along_the_state_no_other_dim_is_cut() -> None:
    scan, after = asked(64, 64)
    assert (relation(scan, "length"), relation(scan, "rows")) == ("free", "free")
    (run,) = runs((scan, after), "length")
    assert run.nodes == (scan, after)
    assert [r.nodes for r in runs((scan, after), "rows", frozenset({"length"}))] == [(after,)]

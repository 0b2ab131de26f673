"""A graph as text: what it computes, block by block, and what that comes to on any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.quantity import bytes_text, digits, scaled
from experiments.text.table import Column, Table
from patterns.count import compulsory, graph_demand, group_traffic, node_demand
from patterns.kind import remark_of
from patterns.plural import number_of

if TYPE_CHECKING:
    from patterns.graph import Block, Graph, Node
    from patterns.kind import Demand


def ok_parts(file: str, graph: Graph) -> list[Part]:
    """'ok' and what the graph in a file is: dims, operations, bytes, intensity; and those of its nodes, as inferred."""
    nodes = sum(len(block.nodes) for block in graph.blocks)
    head = f"ok: {file}: {graph.name}, {number_of(nodes, 'node')} in {number_of(len(graph.blocks), 'block')}"
    return [f"{head}\n  dims  {dims_text(graph)}\n  work  {work_line(graph)}{remarks(graph)}", *block_parts(graph)]


def remarks(graph: Graph) -> str:
    """A line for every remark on how nodes are counted, with their names."""
    names: dict[str, list[str]] = {}
    for _, node in graph.nodes():
        names.setdefault(remark_of(node, graph), []).append(node.name)
    return "".join(f"\n  rows  {', '.join(of)}: {remark}" for remark, of in names.items() if remark)


def dims_text(graph: Graph) -> str:
    """Every extent by name."""
    return ", ".join(f"{name} {extent:,}" for name, extent in graph.extents)


def graph_parts(graph: Graph) -> list[Part]:
    """Title, sums, and a table of the nodes of every block."""
    return [
        f"{graph.name}\n  dims  {dims_text(graph)}\n  work  {work_line(graph)}{remarks(graph)}",
        *block_parts(graph),
    ]


def block_parts(graph: Graph) -> list[Part]:
    """The nodes of every block, with a title each."""
    parts: list[Part] = []
    for block in graph.blocks:
        times = f", {block.count} times" if block.count > 1 else ""
        parts += [f"block {block.name}{times}", block_table(graph, block)]
    return parts


def work_line(graph: Graph) -> str:
    """Operations and compulsory bytes of one run, and their ratio."""
    demand, needed = graph_demand(graph), compulsory(graph)
    by_role = (
        ("weights", needed.weight_bytes),
        ("rows of weights", needed.gathered_bytes),
        ("state", needed.state_bytes),
        ("inputs", needed.input_bytes),
        ("outputs", needed.output_bytes),
    )
    num_bytes = sum(amount for _, amount in by_role)
    parts = ", ".join(f"{name} {bytes_text(amount)}" for name, amount in by_role if amount)
    return f"{work_text(demand)}; at least {bytes_text(num_bytes)} ({parts}); {intensity_text(demand, num_bytes)}"


def work_text(demand: Demand) -> str:
    """The operations of a demand by sort, those that there are."""
    sorts = (
        (demand.matrix_flops, "matrix FLOPs"),
        (demand.vector_ops, "vector ops"),
        (demand.special_ops, "special ops"),
    )
    return ", ".join(f"{scaled(amount, '')} {unit}" for amount, unit in sorts if amount) or "no operations"


def operations(demand: Demand) -> int:
    """All operations of a demand, whatever unit does them."""
    return demand.matrix_flops + demand.vector_ops + demand.special_ops


def intensity_text(demand: Demand, num_bytes: int) -> str:
    """Operations a byte."""
    return f"{digits(operations(demand) / num_bytes)} ops/B" if num_bytes else "no bytes"


def block_table(graph: Graph, block: Block) -> Table:
    """One row a node of a block: what it is, what it writes, operations, bytes and intensity of one execution."""
    columns = (
        Column("node", right=False),
        Column("pattern", right=False),
        Column("writes", right=False),
        Column("ops"),
        Column("bytes"),
        Column("ops/B"),
    )
    rows = [node_row(graph, block, node) for node in block.nodes]
    demands = [node_demand(graph, node) for node in block.nodes]
    traffic = group_traffic(graph, block.name, tuple(node.name for node in block.nodes))
    whole_bytes = sum(amount for _, amount in (*traffic.reads, *traffic.writes))
    whole = sum(map(operations, demands))
    total = ("as one call", "", "", scaled(whole, ""), bytes_text(whole_bytes), ratio(whole, whole_bytes))
    return Table(columns, (*rows, total), rules=(len(rows),))


def node_row(graph: Graph, block: Block, node: Node) -> tuple[str, ...]:
    """The cells of one node, as a call of its own."""
    done = operations(node_demand(graph, node))
    traffic = group_traffic(graph, block.name, (node.name,))
    moved = sum(amount for _, amount in (*traffic.reads, *traffic.writes))
    made = graph.tensor_named[node.writes]
    pattern = f"{node.kind} {node.fn}".strip()
    return (
        node.name,
        pattern,
        f"{made.dtype} [{' '.join(made.dims)}]",
        scaled(done, ""),
        bytes_text(moved),
        ratio(done, moved),
    )


def ratio(done: int, moved: int) -> str:
    """Operations a byte, '-' without bytes."""
    return digits(done / moved) if moved else "-"

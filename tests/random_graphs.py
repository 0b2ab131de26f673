"""Random graphs: several blocks, repeated ones that carry tensors, every kind of node, tensors that many nodes read.

They are drawn as a file's data and read like any file. Extents are small and odd, so that numpy is quick and tiles
divide nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random

from patterns.graph import Graph
from patterns.read import parse_graph
from tests.random_nodes import (
    BOUNDED,
    DIMS,
    MADE_OF,
    MOST_ELEMENTS,
    MOST_POINTS,
    Data,
    Draft,
    Made,
    add_attention,
    add_map,
    add_norm,
    add_product,
    add_reduce,
    add_sum_of_one,
    add_zip,
    product,
)
from tests.random_recurrences import add_scan, add_store


def add_gather(d: Draft) -> Made | None:
    table = d.any() if d.chance(2) else d.given("weight", d.other_dims((), least=1, most=3))
    if table is None or not table.dims:
        return None
    along = d.random.choice(table.dims)
    others = [dim for dim in table.dims if dim != along]
    picked = (*d.some(others), *(d.other_dims(others, most=2)))
    at = table.dims.index(along)
    index = d.index(picked, along)
    new = [dim for dim in index.dims if dim not in others]
    made = replace(table, dims=(*others[:at], *new, *others[at:]), storage="")
    if d.points(made.dims, table.dims) > MOST_POINTS or d.points(made.dims) > MOST_ELEMENTS:
        return None
    more = {"outside": "zero"} if d.chance(4) else {}
    together = [dim for dim in index.dims[-1:] if dim not in others]
    if d.points(together) <= d.sizes[along] and d.chance(2):
        more["distinct"] = "uniform"
    return d.node({"kind": "gather", "reads": [table.name, index.name], "along": along, **more}, made)


def add_lookup_product(d: Draft) -> Made | None:
    """A product with rows that are looked up, summed over dims of a row: what experts are multiplied with."""
    rows = add_gather(d)
    if rows is None or not rows.dims or rows.name not in d.seen:
        return None
    over = d.some(rows.dims, 1, 2)
    return product(d, rows, d.given("input", tuple(dict.fromkeys((*d.some(rows.dims, 0, 2), *over)))), over)


def add_select(d: Draft) -> Made | None:
    """The greatest of a dim, or where they are if that does not depend on rounding."""
    x = d.any()
    along = d.random.choice(x.dims) if x is not None and x.dims else ""
    fits = [dim for dim in DIMS if along and x and dim not in x.dims and d.sizes[dim] <= d.sizes[along]]
    if x is None or not fits:
        return None
    to, fn = d.random.choice(fits), d.random.choice(["values", "indices" if x.exact else "values"])
    made = replace(x, dims=tuple(to if dim == along else dim for dim in x.dims), storage="")
    if fn == "indices":
        made = replace(made, dtype="int32")
    made = d.node({"kind": "select", "fn": fn, "reads": [x.name], "along": along, "to": to}, made)
    if fn == "indices":
        d.indices[made.name] = made, along
    return made


def add_scatter(d: Draft) -> Made | None:
    """Into a state (read under its new name from then on in this block), or into a copy of something else."""
    rows = d.any()
    along = d.random.choice(DIMS)
    if rows is None:
        return None
    picked = d.some(rows.dims)
    if along in rows.dims and along not in picked:
        return None
    due = [dim for dim in rows.dims if dim not in picked]
    dims = (*due, *(dim for dim in d.some(picked) if dim != along), along)
    fits = [
        t
        for t in d.seen.values()
        if {*due} <= {*t.dims} - {along} <= {*rows.dims} and along in t.dims and t is not rows
    ]
    targets = [t for t in fits if t.dtype == rows.dtype or d.chance(2)]
    if not targets and d.points(dims) > MOST_ELEMENTS:
        return None
    target = d.random.choice(targets) if targets else d.given(d.random.choice(["state", "state", "input"]), dims)
    picked = tuple(dict.fromkeys((*picked, *(dim for dim in rows.dims if dim not in target.dims))))
    if set(rows.dims) != (set(target.dims) - {along}) | set(picked) or d.points(target.dims) > MOST_ELEMENTS:
        return None
    fields = {"kind": "scatter", "fn": d.random.choice(["set", "add", "max"]), "along": along}
    fields["reads"] = [target.name, d.index(picked, along).name, rows.name]
    made = replace(
        target, exact=fields["fn"] != "add" and target.exact and rows.exact, size=target.size + 9 * rows.size
    )
    if target.storage:
        d.seen = {name: t for name, t in d.seen.items() if t.storage != target.storage}
    return d.node(fields, made)


def add_move(d: Draft) -> Made | None:
    """A buffer: one of the access patterns that fit the dims of a tensor."""
    x = d.any(most_size=1e9)
    if x is None:
        return None
    ways: list[tuple[Data, tuple[str, ...]]] = []

    def instead(old: str, *new: str) -> tuple[str, ...]:
        return tuple(n for dim in x.dims for n in (new if dim == old else (dim,)))

    if x.dims:
        order = d.mixed(x.dims)
        ways = [({"fn": "permute", "order": " ".join(order)}, order)]
        along = d.random.choice(x.dims)
        ways += [({"fn": "roll", "along": along, "by": d.random.choice([1, -3, f"{along} // 2"])}, x.dims)] * 2
    if "a" in x.dims and "cut" not in x.dims:
        ways.append(
            ({"fn": "slice", "along": "a", "start": d.random.choice([0, "a - cut"]), "to": "cut"}, instead("a", "cut"))
        )
    if "a" in x.dims and "twice" not in x.dims:
        fields = {"fn": "concat", "reads": [x.name, x.name], "along": "a", "to": "twice"}
        ways.append((fields, instead("a", "twice")))
    if "pq" in x.dims and not {"p", "q"} & set(x.dims):
        ways.append(({"fn": "split", "along": "pq", "to": "p q"}, instead("pq", "p", "q")))
    if {"p", "q"} <= set(x.dims) and "pq" not in x.dims:
        merged = tuple("pq" if dim == "p" else dim for dim in x.dims if dim != "q")
        ways.append(({"fn": "merge", "parts": "p q", "to": "pq"}, merged))
    ways = [way for way in ways if d.points(way[1]) <= MOST_ELEMENTS]
    if not ways:
        return None
    fields, dims = d.random.choice(ways)
    return d.node({"kind": "buffer", "reads": [x.name], **fields}, replace(x, dims=dims, storage=""))


ADD: tuple[tuple[Callable[[Draft], Made | None], int], ...] = (
    (add_map, 5),
    (add_zip, 4),
    (add_reduce, 3),
    (add_product, 5),
    (add_attention, 2),
    (add_norm, 1),
    (add_gather, 2),
    (add_lookup_product, 2),
    (add_select, 2),
    (add_scatter, 2),
    (add_move, 3),
    (add_sum_of_one, 1),
    (add_scan, 2),
    (add_store, 1),
)


def add_block(d: Draft, most_nodes: int) -> None:
    """A block, executed several times now and then: then what it carries, and its outputs, are what stays."""
    before, indices = dict(d.seen), dict(d.indices)
    name = d.name("block")
    d.block = {"tensors": {}, "nodes": {}}
    repeated = d.chance(2)
    if repeated:
        d.block["count"] = d.random.choice([1, 2, 3, "p"])
    adders, weights = zip(*ADD, strict=True)
    wanted = d.random.randint(1, most_nodes)
    while len(d.block["nodes"]) < wanted:
        d.random.choices(adders, weights)[0](d)
    if repeated:
        carry(d, before)
    d.data["blocks"][name] = d.block
    roles = {**d.data["tensors"], **d.block["tensors"]}
    own = {made for made in d.block["tensors"] if d.block["tensors"][made]["role"] in ("input", "weight", "state")}
    stays = {made for made in d.seen if not repeated or made in d.block.get("carried", {}).values()}
    stays |= {made for made in d.seen if roles.get(made, {}).get("role") in ("output", "input", "weight", "state")}
    after = {made: found for made, found in d.seen.items() if made in stays - own and not found.storage}
    # A state of the graph is read as it is then, under its first name.
    states = {m: found for m, found in {**before, **d.seen}.items() if found.storage == m and m not in own}
    d.seen = before | after | states
    d.indices = {m: found for m, found in d.indices.items() if m in indices or m in d.data["tensors"] or not repeated}
    d.block = {}


def carry(d: Draft, before: dict[str, Made]) -> None:
    """Up to two tensors from before become, in the next execution, results of the block."""
    made_here = {fields.get("writes", name) for name, fields in d.block["nodes"].items()}
    carried = {}
    for inside in d.random.sample(list(before.values()), min(len(before), d.random.randint(0, 2))):
        if inside.storage:
            continue
        fits = [m for m in d.seen.values() if m.name in made_here and (m.dims, m.dtype) == (inside.dims, inside.dtype)]
        result = d.random.choice(fits) if fits else add_map(d, inside, BOUNDED)
        carried[inside.name] = result.name if result else ""
    if carried:
        d.block["carried"] = carried


def random_data(random: Random, most_nodes: int = 6, most_blocks: int = 3) -> Data:
    """A graph file's data."""
    extents = {dim: random.choice([random.randint(1, 9), random.randint(1, 40)]) for dim in "abcd"}
    extents |= {dim: random.randint(1, 6) for dim in "pq"} | {"alone": 1}
    a, b, p, q = (extents[dim] for dim in "abpq")
    sizes = extents | {"pq": p * q, "cut": max(a - 2, 1), "cat": a + b, "twice": 2 * a}
    data: Data = {"name": "random", "extents": extents | MADE_OF, "tensors": {}, "blocks": {}}
    d = Draft(random, sizes, data)
    for _ in range(random.randint(1, 3)):
        d.given("input", d.some(DIMS, 0, 3))
    for _ in range(random.randint(1, most_blocks)):
        add_block(d, most_nodes)
    return data


def random_graph(random: Random) -> Graph:
    """A graph to run on any machine."""
    return parse_graph(json.dumps(random_data(random)), "random.yaml")

"""Random recurrences, and states that are written whole, added to a graph's data: see random_graphs.py."""

from __future__ import annotations

from dataclasses import replace

from tests.random_nodes import BOUNDED, BYTES, MOST_ELEMENTS, Draft, Made, add_map, reduced


def add_scan(d: Draft) -> Made | None:
    """A cumulative function, or a linear recurrence with a factor of at most 1; from a state before it now and then."""
    x = d.any()
    if x is None or not x.dims:
        return None
    along = d.random.choice(x.dims)
    rest = [dim for dim in x.dims if dim != along]
    fn = d.random.choice(["sum", "max", "linear", "linear", "mul"])
    factor = add_map(d, x, BOUNDED) if fn in ("mul", "linear") else None
    reads = [factor] if factor is not None else []
    reads += [x] if fn != "mul" else []
    if d.chance(2):
        reads.append(d.given(d.random.choice(["state", "input", "weight"]), d.some(rest)))
    fields = {"kind": "scan", "fn": fn, "reads": [read.name for read in reads], "along": along}
    if d.chance(4) and (fn != "max" or len(reads) == 2):
        fields["exclusive"] = True
    dtype = max((read.dtype for read in reads), key=lambda one: BYTES[one])
    size = (x.size + 2) * d.points([along]) if fn != "mul" else 3.0
    made = d.node(fields, replace(x, dtype=dtype, size=size, storage=""))
    return reduced(d, "last", made, [along]) if d.chance(2) else made


def add_store(d: Draft) -> Made | None:
    """Over a state that was declared before or one made to fit, read under its new name from then on in this block."""
    x = d.any(most_size=1e9)
    if x is None or d.points(x.dims) > MOST_ELEMENTS:
        return None
    fits = [t for t in d.seen.values() if t.storage and {*t.dims} == {*x.dims} and t is not x]
    target = d.random.choice(fits) if fits else d.given("state", x.dims)
    d.seen = {name: t for name, t in d.seen.items() if t.storage != target.storage}
    made = replace(target, exact=x.exact, size=x.size)
    return d.node({"kind": "store", "reads": [target.name, x.name]}, made)

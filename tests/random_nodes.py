"""Random nodes that compute, added to a graph's data one by one: what random_graphs.py makes graphs of.

Values stay near 1, so that the order in which sums are taken changes nothing beyond rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod, sqrt
from random import Random
from typing import Any

Data = dict[str, Any]
# Dims, and extents that are made of others: what is split and merged, sliced, concatenated.
MADE_OF = {"pq": "p * q", "cut": "max(a - 2, 1)", "cat": "a + b", "twice": "2 * a"}
DIMS = (*"abcdpq", *MADE_OF)
BYTES = {"fp32": 4, "bf16": 2, "fp8": 1}
# Of a tensor, and of all dims of a product together; of what a function may read, so that nothing grows.
MOST_ELEMENTS, MOST_POINTS, MOST_SIZE = 4000, 60_000, 40.0
BOUNDED = ("tanh", "sigmoid", "zero")
# Those that start with '=' give equal results for equal elements, wherever they are.
FUNCTIONS = (*BOUNDED, "silu", "gelu", "=neg", "=abs", "=relu", "=copy", "=scale", "=shift", "=cast")


@dataclass(frozen=True)
class Made:
    """A tensor that nodes can read; its values are about `size`.

    exact: no sum went into it, so that what is equal stays equal in any order. storage: the state that it is.
    """

    name: str
    dims: tuple[str, ...]
    dtype: str
    exact: bool = True
    size: float = 1.0
    storage: str = ""


@dataclass
class Draft:
    """A graph's data while it is drawn. seen: floats that a node may read now; indices: integers, by what they are
    within. block: the open block.
    """

    random: Random
    sizes: dict[str, int]
    data: Data
    block: Data = field(default_factory=dict)
    seen: dict[str, Made] = field(default_factory=dict)
    indices: dict[str, tuple[Made, str]] = field(default_factory=dict)
    count: int = 0

    def chance(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def some(self, choices: Sequence[str], least: int = 0, most: int = 9) -> tuple[str, ...]:
        return tuple(self.random.sample(list(choices), self.random.randint(least, max(least, min(len(choices), most)))))

    def mixed(self, dims: Iterable[str]) -> tuple[str, ...]:
        dims = list(dims)
        return tuple(self.random.sample(dims, len(dims)))

    def points(self, *dims: Iterable[str]) -> int:
        return prod(self.sizes[dim] for dim in {dim for some in dims for dim in some})

    def any(self, *having: str, most_size: float = MOST_SIZE) -> Made | None:
        """A tensor to read, with these dims among its own."""
        fits = [made for made in self.seen.values() if set(having) <= set(made.dims) and made.size <= most_size]
        return self.random.choice(fits) if fits else None

    def other_dims(self, *dims: Iterable[str], least: int = 0, most: int = 1) -> tuple[str, ...]:
        """Dims that none of these has, few enough for a tensor."""
        taken = {dim for some in dims for dim in some}
        return self.some([dim for dim in DIMS if dim not in taken], least, most)

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def given(self, role: str, dims: Sequence[str], dtype: str = "") -> Made:
        """Declare an input, weight or state with these dims in any order: in the block, or outside all blocks."""
        own = role != "input" and bool(self.block) and self.chance(2)
        name, order = self.name(role[0]), self.mixed(dims)
        while self.points(order) > MOST_ELEMENTS:
            order = order[1:]
        dtype = dtype or self.random.choice(list(BYTES))
        (self.block if own else self.data)["tensors"][name] = {"dims": order, "dtype": dtype, "role": role}
        made = Made(name, order, dtype, storage=name if role == "state" else "")
        if dtype in BYTES:
            self.seen[name] = made
        return made

    def index(self, dims: Sequence[str], within: str) -> Made:
        """Integers below the extent of a dim: an argmax that was taken before, or an input."""
        fits = [made for made, dim in self.indices.values() if dim == within and set(made.dims) == set(dims)]
        return self.random.choice(fits) if fits else self.given("input", dims, "int32")

    def node(self, fields: Data, made: Made, *, any_order: bool = False, declared: bool = False) -> Made:
        """Add a node that makes this tensor, declared now and then: an output, or dims in another order."""
        name = self.name("n")
        writes = f"{name}_made" if self.chance(8) else name
        dims = self.mixed(made.dims) if any_order and self.chance(3) else made.dims
        if declared or dims != made.dims or self.chance(5):
            role = self.random.choice(["output", "output", "intermediate"])
            where = self.block if self.chance(2) else self.data
            where["tensors"][writes] = {"dims": dims, "dtype": made.dtype, "role": role}
        self.block["nodes"][name] = fields if writes == name else fields | {"writes": writes}
        made = replace(made, name=writes, dims=dims)
        if made.dtype in BYTES:
            self.seen[writes] = made
        return made


def wider(x: Made, y: Made) -> str:
    """The dtype of a function of two."""
    return max((x.dtype, y.dtype), key=lambda dtype: BYTES[dtype])


def add_map(d: Draft, x: Made | None = None, forms: Sequence[str] = FUNCTIONS) -> Made | None:
    x = x or d.any(most_size=1e9)
    if x is None:
        return None
    form = d.random.choice(forms if x.size <= MOST_SIZE else BOUNDED)
    fn = form.removeprefix("=")
    more: dict[str, Data] = {
        "scale": {"by": 0.75},
        "shift": {"by": -0.5},
        "cast": {"dtype": d.random.choice(list(BYTES))},
    }
    fields = {"kind": "map", "fn": fn, "reads": [x.name], **more.get(fn, {})}
    dtype = fields.get("dtype", x.dtype)
    size = 1.0 if form in BOUNDED else x.size + 0.5
    return d.node(fields, Made("", x.dims, dtype, x.exact and form != fn, size))


def zipped(d: Draft, fn: str, x: Made, y: Made) -> Made:
    """A zip, whose dims are declared where no operand has all."""
    together = tuple(dict.fromkeys((*x.dims, *y.dims)))
    dims = next((m.dims for m in (x, y) if len(m.dims) == len(together)), None)
    size = x.size * y.size * 3 if fn in ("mul", "div") else x.size + y.size
    made = Made("", dims or d.mixed(together), wider(x, y), x.exact and y.exact and fn in ("max", "min"), size)
    return d.node({"kind": "zip", "fn": fn, "reads": [x.name, y.name]}, made, declared=dims is None)


def add_zip(d: Draft) -> Made | None:
    """Of a tensor with itself, with one of fewer dims, with another (an outer product), or with one made to fit."""
    x, y = d.any(), d.any()
    if x is None or y is None:
        return None
    if d.points(x.dims, y.dims) > MOST_ELEMENTS or d.chance(4):
        y = d.given("weight", d.some(x.dims)) if d.chance(2) else x
    return zipped(d, d.random.choice(["add", "sub", "mul", "max", "min"]), *d.random.sample([x, y], 2))


def reduced(d: Draft, fn: str, x: Made, over: Sequence[str]) -> Made:
    dims = tuple(dim for dim in x.dims if dim not in over)
    size = x.size * (d.points(over) if fn == "sum" else 1)
    made = Made("", dims, "int32" if fn == "argmax" else x.dtype, x.exact and fn in ("max", "min", "argmax"), size)
    return d.node({"kind": "reduce", "fn": fn, "reads": [x.name], "over": over}, made)


def add_reduce(d: Draft) -> Made | None:
    x = d.any()
    if x is None or not x.dims:
        return None
    fn = d.random.choice(["sum", "mean", "max", "min", "argmax" if x.exact else "sum"])
    over = d.some(x.dims, 1, 1 if fn == "argmax" else 3)
    made = reduced(d, fn, x, over)
    if fn == "argmax":
        d.indices[made.name] = made, over[0]
    return made


def product(d: Draft, x: Made, y: Made, over: Sequence[str]) -> Made | None:
    left, right = d.random.sample([x, y], 2)
    dims = tuple(dim for dim in dict.fromkeys((*left.dims, *right.dims)) if dim not in over)
    too_many = d.points(x.dims, y.dims) > MOST_POINTS or d.points(dims) > MOST_ELEMENTS
    if too_many or not set(over) <= {*x.dims} & {*y.dims}:
        return None
    size = 3 * x.size * y.size * sqrt(d.points(over))
    fields = {"kind": "mm", "reads": [left.name, right.name], "over": over}
    return d.node(fields, Made("", dims, wider(x, y), False, size), any_order=True)


def add_product(d: Draft) -> Made | None:
    """A contraction of some shared dims, the others stay as batch dims; with what is there or something made to fit."""
    x, y = d.any(), d.any()
    if x is None or not x.dims:
        return None
    if y is None or not set(x.dims) & set(y.dims) or d.chance(2):
        role = d.random.choice(["weight", "weight", "state", "input"])
        y = d.given(role, (*d.some(x.dims, 1, 3), *d.other_dims(x.dims)))
    shared = [dim for dim in x.dims if dim in y.dims]
    return product(d, x, y, d.some(shared, 1, 2)) if shared else None


def add_attention(d: Draft) -> Made | None:
    """A softmax over some dims, masked or not; often of a product before it, and in one after it."""
    x = add_product(d) if d.chance(2) else d.any()
    if x is None or not x.dims:
        return None
    over = d.some(x.dims, 1, 2)
    scores = x
    if d.chance(3):
        positions = [d.given("input", d.some(x.dims, 0, 2), "int32").name for _ in range(2)]
        scores = d.node({"kind": "zip", "fn": "causal", "reads": [x.name, *positions]}, replace(x, exact=False))
    shifted = zipped_with(d, "sub", scores, reduced(d, "max", scores, over))
    e = d.node({"kind": "map", "fn": "exp", "reads": [shifted.name]}, replace(shifted, exact=False, size=1.0))
    made = replace(zipped_with(d, "div", e, reduced(d, "sum", e, over)), size=1.0)
    d.seen[made.name] = made
    if d.chance(4):
        return made
    values = d.given("state", (*over, *d.some([dim for dim in made.dims if dim not in over]), *d.other_dims(made.dims)))
    return product(d, made, values, over)


def zipped_with(d: Draft, fn: str, x: Made, rows: Made) -> Made:
    made = Made("", x.dims, wider(x, rows), False, x.size + rows.size)
    return d.node({"kind": "zip", "fn": fn, "reads": [x.name, rows.name]}, made)


def add_sum_of_one(d: Draft) -> Made | None:
    """A sum over a group of one member, which the reader takes out."""
    x = d.any()
    return d.node({"kind": "all_reduce", "reads": [x.name], "along": "alone"}, x) if x else None


def add_norm(d: Draft) -> Made | None:
    """x * rsqrt(mean(x * x) + eps), perhaps times a weight."""
    x = d.any(most_size=6)
    if x is None or not x.dims:
        return None
    square = d.node({"kind": "map", "fn": "square", "reads": [x.name]}, replace(x, exact=False, size=36.0))
    mean = reduced(d, "mean", square, d.some(x.dims, 1, 2))
    fields = {"kind": "map", "fn": "rsqrt", "reads": [mean.name], "eps": 0.01}
    made = zipped_with(d, "mul", x, d.node(fields, replace(mean, exact=False, size=10.0)))
    return zipped_with(d, "mul", made, d.given("weight", d.some(made.dims, 0, 2))) if d.chance(2) else made

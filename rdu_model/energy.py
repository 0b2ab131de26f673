"""What a section does that costs energy beside its ops and its bytes: matrix FLOP by type, and no instructions.

A PCU is configured when its section is loaded and repeats one configuration until the section ends: in between nothing
is fetched or decoded. What loading a configuration takes is not published, and is in no price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from patterns.dtypes import dtype_bits, multiplied_dtype
from patterns.energy import Event
from rdu_model.ask import Asked

WIDE_BITS = 32


def section_events(asked: Iterable[Asked], matrix_flops: int) -> tuple[tuple[Event, int], ...]:
    """The FLOP that a section's matrix stages issue, by the type they multiply: in proportion to what each node asks.

    Products of bytes are made as products of bf16.
    """
    needed: Counter[Event] = Counter()
    for one in asked:
        if one.unit_class == "matrix":
            needed[flops_event(*one.read_dtypes[:2])] += one.demand(one.graph.sizes).matrix_flops
    whole = sum(needed.values())
    shares = [(name, matrix_flops * amount // whole) for name, amount in needed.items() if amount]
    if not shares:
        return ()
    (first, amount), *others = shares
    return ((first, amount + matrix_flops - sum(share for _, share in shares)), *others)


def flops_event(left: str, right: str) -> Event:
    """What FLOP of products of two types count as."""
    bits = dtype_bits(multiplied_dtype(left, right))
    return "fp32_flops" if bits >= WIDE_BITS else "bf16_flops"

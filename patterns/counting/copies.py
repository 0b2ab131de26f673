"""Which tensors the members of a group hold more than once: their graph beside that of the whole model."""

from __future__ import annotations

from fractions import Fraction

from patterns.graph import Graph


def copies(whole: Graph, part: Graph, members: int) -> tuple[tuple[str, Fraction], ...]:
    """Weights and states with how many of `members` hold each element, in the order of the graph.

    1 for what is divided, `members` for what each holds whole. part: the graph that each of the members runs.
    """
    held = []
    for tensor in part.tensors:
        if tensor.role in ("weight", "state") and not tensor.shares and tensor.name in whole.tensor_named:
            held.append((tensor.name, Fraction(members * part.elements(tensor.name), whole.elements(tensor.name))))
    return tuple(held)

"""Tensors that a share of the L2 keeps from run to run, so that their bytes come from there and not from the HBM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpu_model.machine import Machine
from gpu_model.options import Options
from patterns.count import storage_of, tensor_bytes
from patterns.errors import DoesNotFit, UnknownName, UserError
from patterns.graph import Graph

ROLES = ("input", "weight", "state", "intermediate")
PERCENT = 100


@dataclass(frozen=True)
class Kept:
    """Tensors that are kept, their bytes in all copies, and the bytes of the L2 that are set aside for them.

    others: what else a user fixed.
    """

    others: Options
    names: frozenset[str] = frozenset()
    num_bytes: int = 0
    set_aside_bytes: int = 0

    def beside(self, machine: Machine) -> Machine:
        """The machine with the L2 that is left for all other tensors."""
        return replace(machine, l2_bytes=machine.l2_bytes - self.set_aside_bytes) if self.names else machine


def kept_of(graph: Graph, options: Options, machine: Machine) -> Kept:
    """What `l2_keep` names, in the share that `l2_share` says, else in as much as it needs.

    Raises UnknownName, UserError, DoesNotFit where it is more than the share or the share is more than can be kept.
    """
    others = replace(options, l2_keep=None, l2_share=None)
    if options.l2_keep is None:
        if options.l2_share is not None:
            raise UserError("option l2_share is of what l2_keep names: give l2_keep too")
        return Kept(others)
    if not machine.l2_persisting_bytes:
        raise UserError(f"the L2 of {machine.name} keeps nothing: leave out l2_keep")
    names = frozenset(_named(graph, options.l2_keep))
    needed = sum(tensor_bytes(graph, name) * graph.copies(name) for name in names)
    share = machine.l2_bytes * options.l2_share // PERCENT if options.l2_share else needed
    most, help_text = machine.l2_persisting_bytes, "keep fewer or smaller tensors"
    if share > most:
        raise DoesNotFit("l2_keep", "bytes of the L2 that can be kept", share, most, help_text)
    if needed > share:
        raise DoesNotFit("l2_keep", "bytes of the share l2_share", needed, share, help_text)
    return Kept(others, names, needed, share)


def _named(graph: Graph, text: str) -> Iterator[str]:
    """Storages of the tensors that a text names: 'w_q,state', a role standing for all that have it."""
    for word in (part.strip() for part in text.split(",")):
        if word in ROLES:
            yield from (tensor.name for tensor in graph.tensors if tensor.role == word and not tensor.shares)
        elif word in graph.tensor_named:
            yield storage_of(graph, word)
        else:
            raise UnknownName("tensor or role of l2_keep", word, [*ROLES, *graph.tensor_named])

"""Banks: the slots of a buffer lie in banks of their own where there is room, else reading and writing take turns.

A bank is read or written in a cycle. With whole banks for each slot one is filled while another is read, and nothing is
lost; that may take more PMUs than the bytes. Where PMUs are short, two slots share a bank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from rdu_model.buffers import Buffer, Group, read_bytes
from rdu_model.flow import Flow
from rdu_model.machine import Machine
from rdu_model.pipe import Stage


def pmus_apart(slots: int, slot_bytes: int, machine: Machine) -> int:
    """PMUs in which each slot has whole banks of its own."""
    bank_bytes = max(1, machine.pmu_bytes // machine.pmu_banks)
    banks = slots * -(-slot_bytes // bank_bytes)
    return max(1, -(-banks // machine.pmu_banks))


def map_to_banks(held: Sequence[Buffer], free: int, machine: Machine) -> tuple[Buffer, ...]:
    """The buffers, with more PMUs where slots would share a bank, as far as some are free.

    Those that need the fewest more come first; where none is left, reading and writing take turns.
    """
    found = list(held)
    more = [pmus_apart(b.slots, b.slot_bytes, machine) - b.pmus if b.slots > 1 else 0 for b in held]
    for number in sorted(range(len(held)), key=more.__getitem__):
        if more[number] > free:
            found[number] = replace(found[number], turns=True)
        elif more[number] > 0:
            found[number] = replace(found[number], pmus=found[number].pmus + more[number])
            free -= more[number]
    return tuple(found)


def turns_of(flow: Flow, buffer: Buffer, groups: Mapping[str, Group], name: str) -> Fraction | int:
    """For how many bytes the buffer is busy for each one that this item reads or writes there; 1 without turns."""
    if not buffer.turns:
        return 1
    link = buffer.link
    written = buffer.slot_bytes * link.tiles
    read = {reader: _read(flow, buffer, groups, reader) for reader in link.readers}
    own = written if name == link.source else read[name]
    return Fraction(written + sum(read.values()), own) if own else 1


def _read(flow: Flow, buffer: Buffer, groups: Mapping[str, Group], reader: str) -> int:
    """Bytes that an item reads of a buffer in the whole run."""
    if not isinstance(flow.leaves[reader].leaf, Stage):
        return buffer.slot_bytes * buffer.link.tiles
    each = read_bytes(flow, reader, buffer.link.source, flow.touched[reader][0], groups[reader])
    return each * flow.tiles_of(reader)

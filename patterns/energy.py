"""What a run takes in energy: by what it was spent on, each part with the range that its sources leave open.

A machine's file prices events: an operation, a byte at a memory level, an issued instruction, a second of being on.
Each price is a range: low, typical, high.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

# Low, typical, high.
Range = tuple[float, float, float]
# Whatever has a price beside what a call's work and traffic say: matrix FLOP as issued by the type that is multiplied,
# bytes through an SM's shared memory, instructions of a warp.
Event = Literal["bf16_flops", "fp8_flops", "fp32_flops", "smem_bytes", "instructions"]


@dataclass(frozen=True, kw_only=True)
class EnergyPrices:
    """What a machine's file says of energy; None where it says nothing, or where a machine has no such thing.

    A field's hash is left out, because machines are keys of caches and others of their fields tell them apart.
    *_joules_per_flop: of matrix units, by the type they multiply: two bytes, one byte, four. vector_joules_per_op,
    special_joules_per_op: of one lane. *_joules_per_byte: hbm, ddr: all of the path from memory to the chip's last
    level. l2: from there to an SM. smem: into or out of an SM's shared memory. onchip: into or out of a PMU, with the
    way to it. network: sent to another member. issue_joules_per_instruction: fetching, decoding, scheduling it and
    fetching its operands, for all threads of a warp. static_watts: of one member whenever it is on.
    """

    bf16_joules_per_flop: Range | None = field(default=None, hash=False)
    fp8_joules_per_flop: Range | None = field(default=None, hash=False)
    fp32_joules_per_flop: Range | None = field(default=None, hash=False)
    vector_joules_per_op: Range | None = field(default=None, hash=False)
    special_joules_per_op: Range | None = field(default=None, hash=False)
    hbm_joules_per_byte: Range | None = field(default=None, hash=False)
    ddr_joules_per_byte: Range | None = field(default=None, hash=False)
    l2_joules_per_byte: Range | None = field(default=None, hash=False)
    smem_joules_per_byte: Range | None = field(default=None, hash=False)
    onchip_joules_per_byte: Range | None = field(default=None, hash=False)
    network_joules_per_byte: Range | None = field(default=None, hash=False)
    issue_joules_per_instruction: Range | None = field(default=None, hash=False)
    static_watts: Range | None = field(default=None, hash=False)

    @property
    def has_prices(self) -> bool:
        """Whether the file says anything of energy."""
        return self.static_watts is not None


@dataclass(frozen=True)
class EnergyPart:
    """Joules spent on one thing (matrix, vector, hbm, issue, static ...): as likely as not, and the two ends.

    num_events: how many operations, bytes or instructions it is of; of static, picoseconds of all members.
    """

    name: str
    num_events: int
    low_j: float
    typical_j: float
    high_j: float


@dataclass(frozen=True)
class Energy:
    """The energy of a run over all members. The parts add up to it, and so do their ends."""

    parts: tuple[EnergyPart, ...]

    @property
    def low_j(self) -> float:
        """The sum with every part at its low end."""
        return self._sum(lambda part: part.low_j)

    @property
    def typical_j(self) -> float:
        """The sum of the typical values."""
        return self._sum(lambda part: part.typical_j)

    @property
    def high_j(self) -> float:
        """The sum with every part at its high end."""
        return self._sum(lambda part: part.high_j)

    def _sum(self, joules: Callable[[EnergyPart], float]) -> float:
        return sum(joules(part) for part in self.parts)


def energy_part(name: str, priced: Iterable[tuple[int, Range]]) -> EnergyPart:
    """A part of events that may have different prices: (how many, joules of one)."""
    both = tuple(priced)
    low, typical, high = (sum(count * price[end] for count, price in both) for end in range(3))
    return EnergyPart(name, sum(count for count, _ in both), low, typical, high)


def price_mistakes(prices: EnergyPrices, due: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(field, message) for prices that cannot be: ends in the wrong order, and some of those that are due missing."""
    for name in EnergyPrices.__dataclass_fields__:
        price = getattr(prices, name)
        if price is not None and not price[0] <= price[1] <= price[2]:
            yield name, f"[low, typical, high] are due in that order, found {', '.join(f'{end:g}' for end in price)}"
    missing = [name for name in due if getattr(prices, name) is None]
    if prices.has_prices and missing:
        yield "static_watts", f"a machine has all prices of energy or none, and this one lacks {', '.join(missing)}"

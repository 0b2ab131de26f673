"""What a machine can do at most by its datasheet, and where products pass from bandwidth to arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from patterns.units import exact


@dataclass(frozen=True)
class Peaks:
    """flops_per_s: dense matrix FLOP by the type of the operands, a multiply-add being 2; derivation: how the 16-bit
    rate comes about, in words. features: of its instruction set.

    memory: what calls stream from, HBM or, where there is none, DDR. memory_efficiency: the share of its
    memory_bytes_per_s that long streams get; applied once, wherever bytes become time.
    """

    clock_hz: int
    flops_per_s: tuple[tuple[str, int], ...]
    derivation: str
    memory_bytes_per_s: int
    memory_efficiency: float
    features: tuple[str, ...] = ()
    memory: str = "HBM"

    @property
    def achieved_bytes_per_s(self) -> Fraction:
        """What long streams get of the memory."""
        return self.memory_bytes_per_s * exact(self.memory_efficiency)

    def ridge_flops_per_byte(self, dtype: str) -> Fraction:
        """The operational intensity from which a product is limited by arithmetic, at datasheet peaks."""
        return Fraction(dict(self.flops_per_s)[dtype], self.memory_bytes_per_s)

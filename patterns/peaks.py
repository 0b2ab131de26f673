"""What a machine can do at most by its datasheet, and where products pass from bandwidth to arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from patterns.units import exact


@dataclass(frozen=True)
class Peaks:
    """flops_per_s: dense matrix FLOP by the type of the operands, a multiply-add being 2; derivation: how the 16-bit
    rate comes about, in words. features: of its instruction set.

    hbm_efficiency: the share of hbm_bytes_per_s that long streams get; applied once, wherever bytes become time.
    """

    clock_hz: int
    flops_per_s: tuple[tuple[str, int], ...]
    derivation: str
    hbm_bytes_per_s: int
    hbm_efficiency: float
    features: tuple[str, ...] = ()

    @property
    def hbm_achieved_bytes_per_s(self) -> Fraction:
        """What long streams get of the HBM."""
        return self.hbm_bytes_per_s * exact(self.hbm_efficiency)

    def ridge_flops_per_byte(self, dtype: str) -> Fraction:
        """The operational intensity from which a product is limited by arithmetic, at datasheet peaks."""
        return Fraction(dict(self.flops_per_s)[dtype], self.hbm_bytes_per_s)

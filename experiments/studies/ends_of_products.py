"""What it saves to end a matrix product's tiles with what follows it, instead of in a kernel of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.point import off_chip_bytes
from experiments.request import Request
from experiments.study import Study, report_of
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.compare import Comparison

GIGA = 10**9


def finding(comparison: Comparison) -> str:
    """Calls, bytes and time by policy, and of the RDU's pipeline, where nothing is stored between stages anyway."""
    library, epilogue, auto, fused = (
        report_of(comparison.reports, mode) for mode in ("library", "epilogue", "auto", "fused")
    )
    saved = off_chip_bytes(library) - off_chip_bytes(epilogue)
    return (
        f"Bias and activation in the epilogue of the product: {number_of(epilogue.calls, 'kernel')} instead of"
        f" {library.calls},"
        f" {saved / GIGA:.2f} GB of off-chip traffic saved of {off_chip_bytes(library) / GIGA:.2f},"
        f" {library.time_s / epilogue.time_s:.2f} times as fast; the policy that goes by predicted cost takes"
        f" {auto.calls}. On the RDU {number_of(fused.calls, 'fused call')} moves {off_chip_bytes(fused) / GIGA:.2f} GB."
    )


STUDY = Study(
    question="What does folding bias and activation into a matrix product save?",
    request=Request("gemm_bias_act"),
    finding=finding,
)

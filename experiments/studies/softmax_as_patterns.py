"""What fusing the map, the reduce and the zip of a softmax saves on either machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.point import off_chip_bytes
from experiments.request import Request
from experiments.study import Study, report_of

if TYPE_CHECKING:
    from experiments.compare import Comparison
    from patterns.report import Report


def apart_and_fused(comparison: Comparison) -> tuple[Report, ...]:
    """The runs that are told of, apart and fused, first on the GPU."""
    return tuple(report_of(comparison.reports, mode) for mode in ("pattern", "library", "unfused", "fused"))


def finding(comparison: Comparison) -> str:
    """Calls and bytes, apart and fused, on both machines."""
    pattern, library, unfused, fused = apart_and_fused(comparison)
    return (
        f"A softmax of three patterns is {pattern.calls} kernels on the GPU, {library.calls} when they are fused, which"
        f" moves {off_chip_bytes(pattern) / off_chip_bytes(library):.2f} times fewer bytes and is"
        f" {pattern.time_s / library.time_s:.2f} times as fast. On the RDU it is {unfused.calls} calls, {fused.calls}"
        f" as a metapipeline: {off_chip_bytes(unfused) / off_chip_bytes(fused):.2f} times fewer bytes,"
        f" {unfused.time_s / fused.time_s:.2f} times as fast."
    )


def details(comparison: Comparison) -> str:
    """Energy, and what both take fused beside their bounds."""
    pattern, library, unfused, fused = apart_and_fused(comparison)
    return (
        f"{energy(pattern, library, unfused, fused)}Fused, the GPU takes {1e6 * library.time_s:.1f} us and the RDU"
        f" {1e6 * fused.time_s:.1f} us; their HBM alone needs"
        f" {1e6 * library.bound_s:.1f} and {1e6 * fused.bound_s:.1f}."
    )


def energy(pattern: Report, library: Report, unfused: Report, fused: Report) -> str:
    """What fusion saves of the energy; '' where that is not known."""
    known = [report.energy for report in (pattern, library, unfused, fused) if report.energy]
    if len(known) < 4:
        return ""
    gpu, gpu_fused, rdu, rdu_fused = (1e3 * one.typical_j for one in known)
    return f"Energy falls from {gpu:.1f} to {gpu_fused:.1f} mJ, and from {rdu:.1f} to {rdu_fused:.1f} mJ. "


STUDY = Study(
    question="What does fusing map, reduce and zip save in a softmax?",
    request=Request("softmax"),
    finding=finding,
    details=details,
    figures=("fusion", "overlap", "energy"),
)

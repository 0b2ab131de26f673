"""What fusing the map, the reduce and the zip of a softmax saves on either machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.request import Request
from experiments.study import Study, report_of

if TYPE_CHECKING:
    from experiments.compare import Comparison
    from patterns.report import Report


def hbm_bytes(report: Report) -> int:
    """Off-chip bytes of a run."""
    return dict(report.bytes)["hbm"]


def finding(comparison: Comparison) -> str:
    """Calls and bytes, apart and fused, on both machines."""
    pattern, library, unfused, fused = (
        report_of(comparison.reports, mode) for mode in ("pattern", "library", "unfused", "fused")
    )
    return (
        f"A softmax of three patterns is {pattern.calls} kernels on the GPU, {library.calls} when they are fused, which"
        f" moves {hbm_bytes(pattern) / hbm_bytes(library):.2f} times fewer bytes and is"
        f" {pattern.time_s / library.time_s:.2f} times as fast. On the RDU it is {unfused.calls} calls, {fused.calls}"
        f" as a metapipeline: {hbm_bytes(unfused) / hbm_bytes(fused):.2f} times fewer bytes,"
        f" {unfused.time_s / fused.time_s:.2f} times as fast."
    )


STUDY = Study(
    question="What does fusing map, reduce and zip save in a softmax?",
    request=Request("softmax"),
    finding=finding,
)

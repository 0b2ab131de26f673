"""An RDU's time has an error band only where it is of what was measured."""

from __future__ import annotations

import pytest

from experiments.compare import compare
from experiments.request import Request

AS_MEASURED = Request("llama-3.2-1b", policies=("library",), modes=("looped", "fused"))


def banded(request: Request) -> dict[str, bool]:
    """Whether each mode of the RDU has a band."""
    outcomes = compare(request).outcomes
    return {one.report.mode: bool(one.bands) for one in outcomes if one.report.family == "rdu"}


def test_a_looped_decode_has_one() -> None:
    assert banded(AS_MEASURED) == {"looped": True, "fused": False}


@pytest.mark.parametrize(
    "other",
    [
        {"placement": "full"},
        {"collectives": "separate"},
        {"orchestration": "software"},
        {"settings": (("rdu.agcus", "12"),)},
        {"workload": "softmax"},
    ],
    ids=str,
)
def test_what_was_not_measured_has_none(other: dict[str, object]) -> None:
    asked = {**vars(AS_MEASURED), "modes": ("looped",), **other}
    assert banded(Request(**asked)) == {"looped": False}  # type: ignore[arg-type]

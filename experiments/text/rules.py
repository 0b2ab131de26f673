"""By what rule calls are counted: each mode's own words, and why two numbers are told of one GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.about import docstring
from patterns.plugin import modules

if TYPE_CHECKING:
    from experiments.compare import Comparison

# Folders whose files are modes: a file's docstring is its rule.
RULE_FOLDERS = ("gpu_model.fusion", "rdu_model.schedules")

CALL_NOTE = (
    "How calls are counted: a call is one kernel launch on the GPU, one execution of a section on the RDU. The counts"
    " follow from the graph and these rules; none is written down."
)
TWO_NUMBERS_NOTE = (
    "Two counts are in circulation for the same GPU stack, an 8B Llama under TensorRT-LLM: about 800 calls a token and"
    " about 10 kernels a layer. They are two rules: 800 is `operator`, 10 a layer is `library`."
)


def counting_rules(comparison: Comparison) -> list[str]:
    """What a call is, and the rule of every mode that is shown."""
    modes = list(dict.fromkeys(report.mode for report in comparison.reports))
    width = max(map(len, modes), default=0)
    lines = [f"  {mode.ljust(width)}  {rule}" for mode in modes if (rule := rule_of(mode))]
    layered = any(count.executions > 1 for report in comparison.reports for count in report.calls_by_block)
    return ["\n".join([CALL_NOTE, *lines]), *([TWO_NUMBERS_NOTE] if layered else [])]


def rule_of(mode: str) -> str:
    """The docstring of a mode's file, '' if it has no file."""
    for folder in RULE_FOLDERS:
        if mode in modules(folder):
            return docstring(f"{folder}.{mode}").removeprefix(f"{mode}: ")
    return ""

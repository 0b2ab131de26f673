"""By what rule calls are counted: each mode's own words, and why two numbers are told of one GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.about import docstring
from patterns.plugin import modules

if TYPE_CHECKING:
    from experiments.compare import Comparison

# By family the folder whose files are its modes: a file's docstring is its rule.
RULE_FOLDERS: Mapping[str, str] = {"gpu": "gpu_model.fusion", "rdu": "rdu_model.schedules"}

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
    shown = list(dict.fromkeys((report.family, report.mode) for report in comparison.reports))
    modes = [mode for _, mode in shown]
    names = [f"{mode} ({family.upper()})" if modes.count(mode) > 1 else mode for family, mode in shown]
    width = max(map(len, names), default=0)
    rules = [rule_of(family, mode) for family, mode in shown]
    lines = [f"  {name.ljust(width)}  {rule}" for name, rule in zip(names, rules, strict=True) if rule]
    layered = any(count.executions > 1 for report in comparison.reports for count in report.calls_by_block)
    return ["\n".join([CALL_NOTE, *lines]), *([TWO_NUMBERS_NOTE] if layered else [])]


def rule_of(family: str, mode: str) -> str:
    """The docstring of the file of a family's mode, '' if it has no file."""
    folder = RULE_FOLDERS[family]
    return docstring(f"{folder}.{mode}").removeprefix(f"{mode}: ") if mode in modules(folder) else ""

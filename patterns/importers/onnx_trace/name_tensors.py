"""Names for nodes and weights: the modules they are in, as the exporter tells, else what the model calls them."""

from __future__ import annotations

import re
from collections import Counter

from patterns.importers.onnx_trace.known import Step
from patterns.importers.onnx_trace.model import Operation
from patterns.importers.onnx_trace.symbols import unused, word
from patterns.importers.onnx_trace.trace import Trace

_LONGEST = 60
# Names that a program made up: they tell a reader nothing.
_MADE_UP = re.compile(r"(onnx::.*|val_\d+|_?to_copy.*|[_/\d]*|[rn]\d+(/.*)?|node_.*|.*/(factor|shift))")


def tensor_names(trace: Trace) -> dict[str, str]:
    """A name for every tensor of a trace; that of a node is that of what it writes."""
    names: dict[str, str] = {}
    outputs = {step.writes for step in trace.steps if trace.made[step.writes].role == "output"}
    for made in trace.made.values():
        if made.role in ("input", "output"):
            names[made.name] = unused(word(made.name.partition("#")[0]), names.values())
    bases = {step.writes: base(step.origin) for step in trace.steps}
    several = Counter(bases.values())
    readers: dict[str, str] = {}
    for step in trace.steps:
        for name in step.reads:
            readers.setdefault(name, bases[step.writes])
    for step in trace.steps:
        if step.writes not in outputs:
            wanted = _step_name(step, bases[step.writes], several)
            names[step.writes] = unused(wanted, names.values())
        for name in step.reads:
            if name not in names:
                names[name] = unused(_weight_name(name, readers[name]), names.values())
    for name, made in trace.made.items():
        if name not in names:
            names[made.name] = unused(word(name), names.values())
    return names


def _step_name(step: Step, at: str, several: Counter[str]) -> str:
    if several[at] == 1:
        return at
    part = step.part if not step.part.startswith("by_") else f"{word(step.part[3:]).split('_')[-1]}_again"
    what = word(part) if part else (step.fn or step.kind)
    return f"{at}_{what}"


def _weight_name(name: str, reader: str) -> str:
    plain = name.partition("#")[0]
    if _MADE_UP.fullmatch(plain):
        last = plain.rpartition("/")[2]
        return f"{reader}_{last if last in ('factor', 'shift') else 'weight'}"
    return _short(re.split(r"[./]", plain))


def base(operation: Operation) -> str:
    """What an operation is called: by its modules, its own path, or what it makes."""
    if any(operation.scope):
        return _short(list(operation.scope))
    path = [part for part in re.split(r"[/]", operation.name) if part]
    if len(path) > 1:
        return _short([piece for part in path[:-1] for piece in part.split(".")])
    for name in (operation.name, *operation.outputs[:1]):
        if not _MADE_UP.fullmatch(name):
            return word(name)[:_LONGEST]
    return word(operation.op)


def _short(path: list[str]) -> str:
    """The words of a path without those that say only: this is a model."""
    words = [word(part) if not part.isdigit() else part for part in path if part]
    while len(words) > 1 and words[0] in ("model", "transformer", "module", "w"):
        words = words[1:]
    joined = "_".join(words)
    return word(joined if len(joined) <= _LONGEST else joined[-_LONGEST:])

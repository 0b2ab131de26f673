"""Names for atoms: what a model calls them, what they are for, or how long they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from patterns.importers.onnx_trace.atoms import Atoms, Axis
from patterns.importers.onnx_trace.known import Step
from patterns.importers.onnx_trace.trace import Trace

# Weights of hints: what the model says is near 100.
SYMBOL = 90
_FOUND = 50
_ROLE = 30


def dim_names(trace: Trace) -> dict[int, str]:
    """A name for every undivided atom. Atoms of one extent and one use share it, unless they lie side by side."""
    for step in trace.steps:
        _suggest(trace, step)
    atoms = _in_order(trace)
    _coalesce(trace.atoms, atoms)
    roots = list(dict.fromkeys(trace.atoms.root(atom) for atom in atoms))
    hints = {root: trace.atoms.hint(root)[1] or "dim" for root in roots}
    shared = {hint for hint in hints.values() if list(hints.values()).count(hint) > 1}
    names: dict[int, str] = {}
    for root in sorted(roots, key=lambda root: -trace.atoms.hint(root)[0]):
        hint = hints[root]
        known = trace.atoms.hint(root)[0] >= SYMBOL and hint not in names.values()
        plain = hint if known or (hint not in shared and hint != "dim") else f"{hint}_{trace.atoms.size((root,))}"
        number, name = 1, plain
        while name in names.values():
            number += 1
            name = f"{plain}_{number}"
        names[root] = name
    return names


def _in_order(trace: Trace) -> list[int]:
    tensors = [name for step in trace.steps for name in (*step.reads, step.writes)]
    tensors += [made.name for made in trace.made.values() if made.role == "input"]
    found = [atom for name in tensors for atom in trace.atoms.resolved(trace.made[name].atoms)]
    found += [
        atom
        for step in trace.steps
        for _, value in step.arguments
        if isinstance(value, tuple)
        for atom in trace.atoms.resolved(value)
    ]
    return list(dict.fromkeys(found))


def _coalesce(atoms: Atoms, found: Iterable[int]) -> None:
    known: dict[tuple[int, str], list[int]] = {}
    for atom in found:
        key = (atoms.size((atom,)), atoms.hint(atom)[1])
        group = known.setdefault(key, [])
        if not any(atoms.unite(other, atom) for other in group):
            group.append(atom)


def _suggest(trace: Trace, step: Step) -> None:
    """What a step tells of its dims."""
    roles = [trace.made[name].role for name in step.reads]
    if step.kind == "mm":
        _suggest_product(trace, step, roles)
    elif step.kind == "gather" and roles[0] == "weight":
        for atom in _held(trace, step.reads[0]):
            trace.atoms.suggest(atom, "hidden", _ROLE)
    elif step.kind == "reduce" and step.fn == "mean" and len(trace.atoms.resolved(step.over)) == 1:
        trace.atoms.suggest(trace.atoms.resolved(step.over)[0], "hidden", _ROLE - 5)


def _held(trace: Trace, tensor: str) -> Axis:
    return trace.atoms.resolved(trace.made[tensor].atoms)


def _suggest_product(trace: Trace, step: Step, roles: Sequence[str]) -> None:
    left, right = (_held(trace, name) for name in step.reads)
    if "weight" in roles:
        for atom in (*left, *right):
            trace.atoms.suggest(atom, "features", 1)
        return
    over = trace.atoms.resolved(step.over)
    if len(over) == 1 and trace.atoms.hint(over[0])[1] == "keys":
        for atom in [a for a in right if a not in left][-1:]:
            trace.atoms.suggest(atom, "head_dim", _FOUND)
    if len(over) != 1 or not (set(left) - set(right)) or not _is_scores(trace, step.writes):
        return
    trace.atoms.suggest(over[0], "head_dim", _FOUND)
    softmaxed = [a for a in right if a not in left]
    alone = [a for a in left if a not in right]
    queries = _queries(trace, alone, softmaxed)
    for atom in queries:
        trace.atoms.suggest(atom, "seq", _FOUND - 5)
    rows = [a for a in alone if a not in queries and trace.atoms.hint(a)[0] < _ROLE]
    heads = [a for a in left if a in right and a not in over and trace.atoms.hint(a)[0] < _ROLE]
    for atom in heads[-1:]:
        trace.atoms.suggest(atom, "kv_heads" if rows else "heads", _FOUND)
    for atom in rows[-1:]:
        trace.atoms.suggest(atom, "group", _FOUND)
    if len(softmaxed) == 1:
        trace.atoms.suggest(softmaxed[0], "keys", _FOUND + 5)


def _queries(trace: Trace, rows: list[int], keys: list[int]) -> list[int]:
    """Which of the rows of scores is the queries' dim: the one that the keys' dim is another name of, else the last."""
    sources = {trace.atoms.root(source) for copy, source in trace.copied if trace.atoms.root(copy) in keys}
    known = [atom for atom in rows if atom in sources or trace.atoms.hint(atom)[0] >= SYMBOL]
    return known or rows[-1:]


def _is_scores(trace: Trace, tensor: str) -> bool:
    """Whether a softmax follows, after no other product."""
    seen, frontier = {tensor}, {tensor}
    for _ in range(12):
        readers = [step for step in trace.steps if frontier & set(step.reads)]
        if any(step.kind == "reduce" and step.fn == "max" for step in readers):
            return True
        frontier = {step.writes for step in readers if step.kind in ("map", "zip")} - seen
        seen |= frontier
        if not frontier:
            return False
    return False

"""The dims of a model's inputs that it leaves open: their names, and how long they are unless somebody says so."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping

from patterns.arithmetic import FUNCTIONS
from patterns.errors import UnknownName, UserError
from patterns.expression import ExpressionError, evaluate
from patterns.importers.onnx_trace.model import Declared, Info

BATCH, SEQ, PAST, CONTEXT = "batch", "seq", "past", "context"
# What exporters call the same thing.
_MEANINGS: Mapping[str, str] = {
    "batch_size": BATCH,
    "n": BATCH,
    "seq_len": "seq",
    "seq_length": "seq",
    "sequence": "seq",
    "sequence_length": "seq",
    "past_sequence_length": PAST,
    "past_seq_len": PAST,
    "past_length": PAST,
    "total_sequence_length": CONTEXT,
    "total_seq_len": CONTEXT,
    "kv_length": CONTEXT,
}
_USUAL = 128
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MOST = 2**31
# What some exporters write for a dim that they leave open.
UNKNOWN = -1


def word(text: str) -> str:
    """A text as the name of a dim or a tensor."""
    found = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_").lower()
    found = found if found and not found[0].isdigit() else f"n_{found}"
    return (
        f"{found[:80]}_"
        if found in FUNCTIONS or found in ("is", "in", "and", "or", "not", "if", "else")
        else found[:80]
    )


def unused(name: str, taken: Container[str], between: str = "_") -> str:
    """The name, with a number if it is taken."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}{between}{number}"
    return found


def symbol(name: str) -> str:
    """The name of an open dim in the graph."""
    plain = word(name)
    return _MEANINGS.get(plain, plain)


def open_names(inputs: Iterable[Info]) -> dict[str, int]:
    """Every open dim by name, in order, with its usual extent: one of a batch, many of everything else.

    A dim without a name is called after its input and axis. One that is an expression of others is none itself.
    """
    found: dict[str, int] = {}
    for info in inputs:
        for axis, dim in enumerate(info.shape or ()):
            for name in _names(info, axis, dim):
                usual = 1 if name == BATCH or axis == 0 else _USUAL
                found.setdefault(name, usual)
    if CONTEXT in found and PAST in found:
        found[CONTEXT] = found[PAST] + found.get(SEQ, 1)
    return found


def _names(info: Info, axis: int, dim: Declared) -> Iterable[str]:
    if isinstance(dim, int) and dim != UNKNOWN:
        return ()
    if dim is None or isinstance(dim, int):
        return (_unnamed(info, axis),)
    return (symbol(dim),) if not _is_expression(dim) else tuple(symbol(name) for name in _WORD.findall(dim))


def _unnamed(info: Info, axis: int) -> str:
    return BATCH if axis == 0 else f"{word(info.name)}_axis_{axis}"


def _is_expression(dim: str) -> bool:
    return bool(re.search(r"[-+*/]", dim)) and bool(re.fullmatch(r"[A-Za-z0-9_ ()+*/-]+", dim))


def extents(inputs: Iterable[Info], overrides: Mapping[str, str], file: str, fixed_batch: bool) -> dict[str, int]:
    """Extent of every open dim. Raises UnknownName for an override of another, UserError for one that is no extent."""
    found = open_names(inputs)
    if fixed_batch:
        found.setdefault(BATCH, 1)
    asked = {symbol(name): (name, str(text)) for name, text in overrides.items()}
    if SEQ in found and CONTEXT in asked and not {CONTEXT, PAST} & found.keys():
        # Without a cache, what a run sees are its own tokens.
        asked = {**asked, SEQ: ("context", asked[CONTEXT][1])}
        del asked[CONTEXT]
    if asked.get(SEQ, ("", ""))[1] == CONTEXT and SEQ in found:
        why = "it takes a cache, which is never empty here" if PAST in found else "say how long it is"
        raise UserError(f"{file}: a whole context of tokens cannot be run: {why}")
    # The cache after a run is told by what the run adds to it.
    for name, text in sorted(asked.values(), key=lambda item: symbol(item[0]) == CONTEXT):
        known = symbol(name)
        if known == CONTEXT and known not in found and PAST in found:
            # The cache after this run, as elsewhere.
            known, text = PAST, f"({text}) - seq"
        elif known == CONTEXT and known not in found and SEQ in found:
            known = SEQ
        if known not in found:
            raise UnknownName("extent", name, found)
        try:
            found[known] = evaluate(str(text), found)
        except ExpressionError as error:
            raise UserError(f"{file}: extent {name!r}: {error}") from None
        if not 1 <= found[known] < MOST:
            raise UserError(f"{file}: extent {name!r} is {found[known]}; 1 or more is due")
    if {CONTEXT, PAST, SEQ} <= found.keys() and CONTEXT not in asked:
        found[CONTEXT] = found[PAST] + found[SEQ]
    return found


def extent(info: Info, axis: int, sizes: Mapping[str, int], file: str) -> tuple[int, str]:
    """(extent, name of the open dim or '') of an axis of an input. Raises UserError."""
    dim = (info.shape or ())[axis]
    if dim is None or dim == UNKNOWN:
        name = _unnamed(info, axis)
        return sizes[name], name
    if isinstance(dim, int):
        if not 1 <= dim < MOST:
            raise UserError(f"{file}: input {info.name!r} has extent {dim} at axis {axis}")
        return dim, ""
    if not _is_expression(dim):
        return sizes[symbol(dim)], symbol(dim)
    text = _WORD.sub(lambda match: symbol(match.group()), dim)
    try:
        return evaluate(text, sizes), word(text)
    except ExpressionError as error:
        raise UserError(f"{file}: input {info.name!r}, axis {axis}: {dim!r}: {error}") from None

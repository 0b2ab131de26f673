"""What extents are to each other: those that a file writes as expressions of others, and conditions that it states."""

from __future__ import annotations

from collections.abc import Mapping

from patterns.expression import parse, renamed
from patterns.graph_file.conditions import names_of
from patterns.graph_file.piece import Piece
from patterns.graph_file.spec import GraphSpec

Formulas = tuple[tuple[str, str], ...]


def relations(
    spec: GraphSpec, written: Mapping[str, str], pieces: Mapping[str, Piece], sizes: Mapping[str, int]
) -> tuple[Formulas, tuple[str, ...]]:
    """Formulas (extent, text) and conditions, of the file itself and of what it uses of others, by names in `sizes`.

    written: what each of the file's own extents is to be, as text. Left out are those of extents that are gone.
    """
    formulas = [(name, text) for name, text in written.items() if parse(text).names]
    conditions = list(spec.requires)
    for piece in pieces.values():
        for name, text in piece.source.formulas:
            if piece.dims[name] in piece.extents and _known(piece, _used(text), sizes):
                formulas.append((piece.dims[name], renamed(text, piece.dims)))
        known = (text for text in piece.source.requires if _known(piece, names_of(text), sizes))
        conditions += [renamed(text, piece.dims) for text in known]
    return tuple(dict(formulas).items()), tuple(dict.fromkeys(conditions))


def _used(text: str) -> tuple[str, ...]:
    return tuple(name for name, _ in parse(text).names)


def _known(piece: Piece, names: tuple[str, ...], sizes: Mapping[str, int]) -> bool:
    return all(piece.dims.get(name) in sizes for name in names)

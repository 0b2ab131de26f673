"""Layers in which a token sees a window of those before it, alone or in turn with layers that see all."""

from __future__ import annotations

from collections.abc import Sequence

from patterns.decoder.layers import with_layers
from patterns.decoder.norms import BLOCK
from patterns.draft import Draft

SLOTS = "kept"


def with_windows(draft: Draft, windows: Sequence[int]) -> Draft:
    """The window of each layer, 0 for a layer that sees all; all windows are equal."""
    made = draft
    for window in set(windows) - {0}:
        made = made.extents(window=window, **{SLOTS: "min(context, window + seq - 1)"})
        made = made.inputs("int32", places="batch seq", window_slots=SLOTS)
    return with_layers(made, [_windowed if window else _seeing_all for window in windows]).without_unread()


def _seeing_all(draft: Draft) -> Draft:
    return draft


def _windowed(draft: Draft) -> Draft:
    """Every layer sees the last `window` tokens, in a rolling cache of as many slots as the run's tokens see.

    `places` says which slot each of the run's tokens is written to, `window_slots` which position each slot holds.
    """
    made = draft.of_dims(BLOCK, {"context": SLOTS})
    made = made.reading({"positions": "places"}, of=("k_written", "v_written"))
    made = made.reading({"slots": "window_slots"}, of=("masked",))
    return made.node("masked", fn="sliding_window", window="window")

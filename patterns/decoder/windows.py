"""Layers in which a token sees a window of those before it, alone or in turn with layers that see all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from patterns.decoder import BLOCK
from patterns.decoder.config import DecoderConfig
from patterns.decoder.layers import segments, with_layers
from patterns.graph_file.draft import WRITTEN_DTYPE, Draft

SLOTS = "kept"
SLIDING = "sliding_attention"
# Blocks of alike layers in a graph that people would read.
MOST_BLOCKS = 100


class WindowedConfig(DecoderConfig):
    """A decoder some of whose layers see a window. layer_types: which do, where the config lists its layers."""

    sliding_window: Annotated[int, Field(ge=0)] | None = None
    layer_types: tuple[Literal["sliding_attention", "full_attention"], ...] | None = Field(default=None, strict=False)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """(field, message) of everything that does not fit together."""
        types, layers = self.layer_types or (), self.num_hidden_layers
        if types and len(types) != layers:
            yield "layer_types", f"{len(types)} layers are listed, and num_hidden_layers is {layers}"
        if SLIDING in types and not self.sliding_window:
            yield "layer_types", f"{SLIDING} needs sliding_window, which says how long a window is"
        elif len(segments(self.windows)) > MOST_BLOCKS:
            yield "layer_types", f"layers of two sorts in no order that repeats: more than {MOST_BLOCKS} blocks"
        yield from super().mistakes()

    @property
    def windows(self) -> list[int]:
        """The window of each layer, 0 for one that sees all."""
        if self.layer_types is None:
            return self.usual_windows()
        return [(self.sliding_window or 0) if kind == SLIDING else 0 for kind in self.layer_types]

    def usual_windows(self) -> list[int]:
        """The window of each layer where the config does not list its layers: the same for all."""
        return [self.sliding_window or 0] * self.num_hidden_layers


def with_windows(draft: Draft, windows: Sequence[int], *, own_rotary: bool = False) -> Draft:
    """The window of each layer, 0 for one that sees all; all windows are equal.

    A layer with a window has a rolling cache of as many slots as the run's tokens see: `places` says which slot each of
    them is written to, `window_slots` which position each slot holds. own_rotary: it has rotary tables of its own.
    """
    made = draft
    if window := max(windows):
        made = made.extents(window=window, **{SLOTS: "min(context, window + seq - 1)"})
        made = made.inputs("int32", places="batch seq", window_slots=SLOTS)
        if own_rotary:
            turned = " ".join(made.data["tensors"]["cos"]["dims"])
            made = made.inputs(WRITTEN_DTYPE, window_cos=turned, window_sin=turned)
    windowed = _windowed_turned if own_rotary else _windowed
    return with_layers(made, [windowed if window else _seeing_all for window in windows]).without_unread()


def _seeing_all(draft: Draft) -> Draft:
    return draft


def _windowed(draft: Draft) -> Draft:
    made = draft.of_dims(BLOCK, {"context": SLOTS})
    made = made.reading({"positions": "places"}, of=("k_written", "v_written"))
    made = made.reading({"slots": "window_slots"}, of=("masked",))
    return made.node("masked", fn="sliding_window", window="window")


def _windowed_turned(draft: Draft) -> Draft:
    return _windowed(draft).reading({"cos": "window_cos", "sin": "window_sin"}, of=("q_cos", "q_sin", "k_cos", "k_sin"))

"""Qwen2 and Qwen2.5: Llama's layers, with biases where queries, keys and values are made."""

from __future__ import annotations

from collections.abc import Iterator

from patterns.decoder.biases import ATTENTION_INPUTS, with_biases
from patterns.decoder.draft import decoder
from patterns.decoder.stored import TABLE
from patterns.decoder.windows import WindowedConfig, with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("Qwen2ForCausalLM", "Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration")
MODEL_TYPES = ("qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_vl_text", "qwen2_5_vl_text")
SOURCE = "Yang et al., Qwen2 Technical Report, arXiv 2407.10671, section 2.2"
STORED = TABLE


class Config(WindowedConfig):
    """A Qwen2. A window counts where `use_sliding_window` says so, from layer `max_window_layers` on."""

    use_sliding_window: bool = False
    max_window_layers: int = 28

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """(field, message) of everything that does not fit together."""
        if self.use_sliding_window and not self.sliding_window:
            yield "use_sliding_window", "a window is used, and sliding_window does not say how long it is"
        yield from super().mistakes()

    def usual_windows(self) -> list[int]:
        """The window of each layer, 0 for one that sees all."""
        window = (self.sliding_window or 0) if self.use_sliding_window else 0
        return [window if layer >= self.max_window_layers else 0 for layer in range(self.num_hidden_layers)]


def draft(config: Config) -> Draft:
    """Llama's graph with biases."""
    return with_windows(with_biases(decoder(config), ATTENTION_INPUTS), config.windows)

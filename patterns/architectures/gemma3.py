"""Gemma 3: Gemma 2's layers with norms of queries and keys instead of caps, and a window in five layers of six.

Layers with a window have rotary positions of another base: tables of their own.
"""

from __future__ import annotations

from patterns.architecture import Absent, Count, Layers
from patterns.architectures import gemma, gemma2
from patterns.decoder.norms import with_head_norms, with_post_norms, with_unit_gains
from patterns.decoder.windows import with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("Gemma3ForCausalLM",)
MODEL_TYPES = ("gemma3_text",)
SOURCE = "Gemma Team, Gemma 3 Technical Report, arXiv 2503.19786, section 2"
STORED = gemma2.STORED


class Config(gemma2.Config):
    """A Gemma 3, whose configs leave out what is usual."""

    hidden_size: Count = 2304
    num_hidden_layers: Layers = 26
    intermediate_size: Count = 9216
    vocab_size: Count = 262_208
    num_attention_heads: Count = 8
    num_key_value_heads: Count | None = 4
    attn_logit_softcapping: float | None = None
    final_logit_softcapping: float | None = None
    sliding_window_pattern: Count = 6
    use_bidirectional_attention: Absent = None

    def usual_windows(self) -> list[int]:
        """The window of each layer: the last of every so many sees all."""
        period, window = self.sliding_window_pattern, self.sliding_window or 0
        return [window if (layer + 1) % period else 0 for layer in range(self.num_hidden_layers)]


def draft(config: Config) -> Draft:
    """Llama's graph with Gemma 3's differences."""
    made = with_post_norms(gemma.gemma(config), config.rms_norm_eps)
    made = with_head_norms(gemma2.capped(made, config), config.rms_norm_eps)
    made = gemma.biased(with_unit_gains(made), config)
    return with_windows(made, config.windows, own_rotary=True)

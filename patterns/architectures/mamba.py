"""Mamba: layers of a convolution and a recurrence with a state, and no attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from patterns.architecture import Absent, ConfigFields, Count
from patterns.checkpoint.stored import stored
from patterns.graph_file.draft import Draft, library_draft

ARCHITECTURES = ("MambaForCausalLM",)
MODEL_TYPES = ("mamba",)
SOURCE = "Gu and Dao, Mamba, arXiv 2312.00752, algorithm 2 and figure 3"
_LAYER = "backbone.layers.{layer}"
_MIXER = f"{_LAYER}.mixer"
STORED = {
    "embedding": stored("backbone.embeddings.weight", "vocabulary", "hidden"),
    "gain": stored(f"{_LAYER}.norm.weight", "hidden"),
    "w_x": stored(f"{_MIXER}.in_proj.weight", "inner", "hidden"),
    "w_z": stored(f"{_MIXER}.in_proj.weight", "inner", "hidden"),
    "w_conv": stored(f"{_MIXER}.conv1d.weight", "inner", "", "conv_kernel"),
    "conv_bias": stored(f"{_MIXER}.conv1d.bias", "inner"),
    "w_low": stored(f"{_MIXER}.x_proj.weight", "dt_rank", "inner"),
    "w_b": stored(f"{_MIXER}.x_proj.weight", "d_state", "inner"),
    "w_c": stored(f"{_MIXER}.x_proj.weight", "d_state", "inner"),
    "w_dt": stored(f"{_MIXER}.dt_proj.weight", "inner", "dt_rank"),
    "dt_bias": stored(f"{_MIXER}.dt_proj.bias", "inner"),
    "a_log": stored(f"{_MIXER}.A_log", "inner", "d_state"),
    "d_skip": stored(f"{_MIXER}.D", "inner"),
    "w_out": stored(f"{_MIXER}.out_proj.weight", "hidden", "inner"),
    "final_gain": stored("backbone.norm_f.weight", "hidden"),
    "head": stored("lm_head.weight", "vocabulary", "hidden"),
}


class Config(ConfigFields):
    """A Mamba. time_step_rank: `auto` is a sixteenth of the hidden size, rounded up."""

    tie_word_embeddings: bool = True
    state_size: Count = 16
    conv_kernel: int = Field(default=4, gt=1)
    expand: Count = 2
    intermediate_size: Count | None = None
    time_step_rank: Count | Literal["auto"] = "auto"
    layer_norm_epsilon: float = 1e-5
    hidden_act: Literal["silu"] = "silu"
    use_bias: Absent = False
    use_conv_bias: Literal[True] = True

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """(field, message) of everything that does not fit together."""
        inner = self.expand * self.hidden_size
        if self.intermediate_size not in (None, inner):
            yield "intermediate_size", f"{self.intermediate_size} is not expand x hidden_size, which is {inner}"
        yield from super().mistakes()

    def unshared(self, members: int) -> str:
        """A Mamba is not divided."""
        return "its layers" if members > 1 else ""


def draft(config: Config) -> Draft:
    """The Mamba graph."""
    made = library_draft("mamba").extents(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        expand=config.expand,
        d_state=config.state_size,
        conv_kernel=config.conv_kernel,
        vocabulary=config.vocab_size,
    )
    if config.time_step_rank != "auto":
        made = made.extents(dt_rank=config.time_step_rank)
    made = made.each_node("rsqrt", eps=config.layer_norm_epsilon)
    if config.tie_word_embeddings:
        return made
    return made.outer_weights(head="vocabulary hidden").reading({"embedding": "head"}, of=("logits",))

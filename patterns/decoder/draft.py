"""A ready-made decoder graph with a config's extents: what every decoder's draft begins with."""

from __future__ import annotations

from patterns.decoder.config import DecoderConfig
from patterns.decoder.rotary import with_partial_rotary
from patterns.graph_file.draft import Draft, library_draft


def decoder(config: DecoderConfig, graph: str = "llama", **extents: int) -> Draft:
    """A ready-made decoder graph with the extents, epsilon and sharing of a config; `extents`: what else it has."""
    made = library_draft(graph).extents(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        model_heads=config.num_attention_heads,
        model_kv_heads=config.kv_heads,
        head_dim=config.dims_a_head,
        model_vocabulary=config.vocab_size,
        **(extents or {"model_ffn": config.intermediate_size}),
    )
    made = made.each_node("rsqrt", eps=config.rms_norm_eps)
    if config.rotated_dims < config.dims_a_head:
        made = with_partial_rotary(made, config.rotated_dims)
    return tied(made) if config.tie_word_embeddings else made


def tied(draft: Draft) -> Draft:
    """The draft whose head is the embedding table."""
    return draft.reading({"head": "embedding"}).without_tensor("head")

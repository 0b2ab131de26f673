"""Decoders with a mixture of experts: fields that their configs have in common, and how they differ from Mixtral."""

from __future__ import annotations

from collections.abc import Iterator

from patterns.architecture import Count
from patterns.decoder import BLOCK
from patterns.decoder.config import DecoderConfig
from patterns.graph_file.draft import Draft

# The shares of all experts' softmax, which are not divided by their sum over the chosen.
SHARES_OF_ALL = """
all_top:     {kind: reduce, fn: max, reads: [router], over: [experts]}
all_shifted: {kind: zip,    fn: sub, reads: [router, all_top]}
all_powers:  {kind: map,    fn: exp, reads: [all_shifted]}
all_total:   {kind: reduce, fn: sum, reads: [all_powers], over: [experts]}
"""
# An expert that every token is given; its share is 1, or that of a gate of its own.
SHARED = """
shared_gate:      {kind: mm,  reads: [ffn_in, w_shared_gate], over: [hidden]}
shared_up:        {kind: mm,  reads: [ffn_in, w_shared_up], over: [hidden]}
shared_activated: {kind: map, fn: silu, reads: [shared_gate]}
shared_gated:     {kind: zip, fn: mul,  reads: [shared_activated, shared_up]}
shared_down:      {kind: mm,  reads: [shared_gated, w_shared_down], over: [shared_ffn]}
"""
WEIGHTED = """
shared_score:     {kind: mm,  reads: [ffn_in, w_shared_score], over: [hidden]}
shared_share:     {kind: map, fn: sigmoid, reads: [shared_score]}
shared_weighted:  {kind: zip, fn: mul, reads: [shared_down, shared_share]}
"""
TOGETHER = "down_all: {kind: zip, fn: add, reads: [down, ${shared}]}"


class ExpertsConfig(DecoderConfig):
    """A decoder whose MLPs are experts, of which every token is given the best few."""

    num_experts_per_tok: Count

    @property
    def experts(self) -> int:
        """Experts of a layer, those that every token is given not counted."""
        raise NotImplementedError

    @property
    def expert_ffn(self) -> int:
        """Width of an expert."""
        return self.intermediate_size

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """(field, message) of everything that does not fit together."""
        if self.num_experts_per_tok > self.experts:
            yield "num_experts_per_tok", f"{self.num_experts_per_tok} experts a token, and there are {self.experts}"
        yield from super().mistakes()


class NarrowExpertsConfig(ExpertsConfig):
    """Experts of a width of their own, besides that of layers without any."""

    moe_intermediate_size: Count

    @property
    def expert_ffn(self) -> int:
        """Width of an expert."""
        return self.moe_intermediate_size

    def unshared(self, members: int) -> str:
        """What so many members cannot share: a part of every expert is each one's."""
        narrow = self.expert_ffn % members
        return f"moe_intermediate_size {self.expert_ffn}" if narrow else super().unshared(members)


def expert_extents(config: ExpertsConfig) -> dict[str, int]:
    """Extents of a graph of experts."""
    return {
        "model_expert_ffn": config.expert_ffn,
        "experts": config.experts,
        "chosen_experts": config.num_experts_per_tok,
    }


def with_shares_of_all(draft: Draft) -> Draft:
    """Experts' results weighted by a softmax over all experts, of which the chosen have less than the whole."""
    made = draft.after("router", SHARES_OF_ALL).reading({"all_total": "router"})
    made = made.without_nodes("best_top", "best_total")
    return made.reading({"best_top": "all_top", "best_total": "all_total"})


def with_shared_expert(draft: Draft, ffn: int, *, weighted: bool) -> Draft:
    """An expert of width `ffn` besides, which every token is given; weighted: by a gate of its own.

    Several such experts side by side are one.
    """
    made = draft.extents(model_shared_ffn=ffn, shared_ffn="model_shared_ffn / tensor_parallel")
    shared = {"w_shared_gate": "hidden shared_ffn", "w_shared_up": "hidden shared_ffn"}
    made = made.weights(BLOCK, **shared, w_shared_down="shared_ffn hidden")
    if not weighted:
        return made.after("down", SHARED + TOGETHER, shared="shared_down")
    made = made.weights(BLOCK, w_shared_score="hidden")
    return made.after("down", SHARED + WEIGHTED + TOGETHER, shared="shared_weighted")

"""Fields that the configs of decoders with a mixture of experts have in common."""

from __future__ import annotations

from collections.abc import Iterator

from patterns.architecture import Count
from patterns.decoder.config import DecoderConfig


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

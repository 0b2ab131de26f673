"""Fields that the configs of decoder models have in common: attention heads, a feed-forward network, norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from patterns.architecture import ConfigFields, Count


class DecoderConfig(ConfigFields):
    """A decoder as in Llama: grouped-query attention, and a gated feed-forward network."""

    num_attention_heads: Count
    num_key_value_heads: Count | None = None
    head_dim: Count | None = None
    intermediate_size: Count
    rms_norm_eps: float = 1e-6
    hidden_act: str = "silu"
    partial_rotary_factor: float | None = None
    rope_parameters: dict[str, object] | None = None

    ACTIVATIONS: ClassVar[tuple[str, ...]] = ("silu",)

    @property
    def kv_heads(self) -> int:
        """Heads that have keys and values: as many as query heads, if nothing is said."""
        return self.num_key_value_heads or self.num_attention_heads

    @property
    def dims_a_head(self) -> int:
        """Extent of a head: its part of the hidden size, if nothing is said."""
        return self.head_dim or self.hidden_size // self.num_attention_heads

    @property
    def rotated_dims(self) -> int:
        """Dims of a head that rotary positions turn."""
        factor = self.partial_rotary_factor or (self.rope_parameters or {}).get("partial_rotary_factor")
        return int(self.dims_a_head * factor) if isinstance(factor, float) else self.dims_a_head

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """(field, message) of everything that does not fit together."""
        heads = self.num_attention_heads
        if heads % self.kv_heads:
            yield "num_key_value_heads", f"{self.kv_heads} KV heads do not divide {heads} attention heads"
        if self.head_dim is None and self.hidden_size % heads:
            yield "num_attention_heads", f"{heads} heads do not divide hidden_size {self.hidden_size}"
        if self.rotated_dims % 2:
            field = "head_dim" if self.rotated_dims == self.dims_a_head else "partial_rotary_factor"
            yield field, f"rotary positions turn pairs, and {field} {self.rotated_dims} is odd"
        if self.rotated_dims > self.dims_a_head:
            yield "partial_rotary_factor", f"{self.rotated_dims} of {self.dims_a_head} dims of a head cannot be turned"
        if self.hidden_act not in self.ACTIVATIONS:
            known = ", ".join(self.ACTIVATIONS)
            yield "hidden_act", f"activation {self.hidden_act!r} is not supported here; supported: {known}"
        yield from super().mistakes()

    def unshared(self, members: int) -> str:
        """What so many members cannot share. With more members than KV heads, several have the same one."""
        divided = {
            "num_attention_heads": self.num_attention_heads,
            "intermediate_size": self.intermediate_size,
            "vocab_size": self.vocab_size,
        }
        for field, value in divided.items():
            if value % members:
                return f"{field} {value}"
        alike = self.kv_heads % members and members % self.kv_heads
        return f"num_key_value_heads {self.kv_heads}" if alike else ""

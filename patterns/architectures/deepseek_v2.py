"""DeepSeek-V2 and V2-Lite: as DeepSeek-V3, with shares of a softmax and groups judged by their best expert."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from patterns.architecture import Count
from patterns.architectures import deepseek_v3

ARCHITECTURES = ("DeepseekV2ForCausalLM",)
MODEL_TYPES = ("deepseek_v2",)
SOURCE = "DeepSeek-AI, DeepSeek-V2, arXiv 2405.04434, section 2"
STORED = deepseek_v3.STORED
draft = deepseek_v3.draft


class Config(deepseek_v3.Config):
    """A DeepSeek-V2."""

    first_k_dense_replace: int = Field(default=0, ge=0)
    n_group: Count | None = None
    topk_group: Count | None = None
    norm_topk_prob: bool = False
    routed_scaling_factor: float = 1.0
    scoring_func: Literal["sigmoid", "softmax"] = "softmax"
    topk_method: Literal["noaux_tc", "group_limited_greedy", "greedy"] = "greedy"

"""What a config's `quantization_config` says of its weights: of 4 bits in groups, or of fp8 in blocks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

FP8 = "fp8"
METHODS = ("awq", "gptq", FP8)


def _known(method: str) -> str:
    if method not in METHODS:
        raise ValueError(
            f"method {method!r} is not supported here; supported: {', '.join(METHODS)}. Leave quantization_config "
            f"out to import the model with weights of its torch_dtype"
        )
    return method


class QuantizationConfig(BaseModel):
    """Weights of 4 bits in groups, in the order of the model's dims, in every product of its layers; or matrices of its
    layers in fp8.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    quant_method: Annotated[str, AfterValidator(_known)]
    bits: Literal[4] = Field(default=4)
    group_size: Annotated[int, Field(gt=0)] = 128
    desc_act: Literal[False] = False
    fmt: Literal["e4m3"] = "e4m3"
    lm_head: Literal[False] = False
    modules_to_not_convert: tuple[()] | None = Field(default=None, strict=False)

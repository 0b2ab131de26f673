"""Element types of tensors: how many bytes one element has, and which type a result of several has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from patterns.errors import UnknownName

DTYPE_BYTES: Mapping[str, int] = {
    "fp32": 4,
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
    "int8": 1,
    "int32": 4,
    "int64": 8,
}


def dtype_bytes(dtype: str) -> int:
    """Bytes of one element. Raises UnknownName."""
    if dtype not in DTYPE_BYTES:
        raise UnknownName("dtype", dtype, DTYPE_BYTES)
    return DTYPE_BYTES[dtype]


def is_integer(dtype: str) -> bool:
    """Whether elements are integers."""
    return dtype.startswith("int")


def result_dtype(dtypes: Iterable[str]) -> str:
    """The type of a function of several: floating before integer, then the widest, then the first."""
    return max(dtypes, key=lambda dtype: (not is_integer(dtype), dtype_bytes(dtype)))

"""Element types of tensors: how many bits one element has, what bytes several take, which type a result has.

`fp8` is fp8_e4m3: four bits of exponent, three of mantissa, greatest value 448, no infinity. Elements of less than a
byte are packed: a tensor or a tile of it takes whole bytes, rounded up once for all of its elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from patterns.errors import UnknownName

BYTE_BITS = 8

DTYPE_BITS: Mapping[str, int] = {
    "fp32": 32,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "fp8_e4m3": 8,
    "fp8_e5m2": 8,
    "fp4_e2m1": 4,
    "int4": 4,
    "int8": 8,
    "int32": 32,
    "int64": 64,
}
# How other libraries spell them.
SPELLED_ELSEWHERE: Mapping[str, str] = {
    "float": "fp32",
    "float32": "fp32",
    "f32": "fp32",
    "float16": "fp16",
    "half": "fp16",
    "f16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "float4_e2m1fn": "fp4_e2m1",
    "long": "int64",
    "int": "int32",
    "bool": "int8",
    "uint8": "int8",
}
# Types that matrix units multiply as one.
_FP8 = frozenset({"fp8", "fp8_e4m3", "fp8_e5m2"})
# What elements of less than a byte become to be multiplied.
_UNPACKED: Mapping[str, str] = {"int4": "int8", "fp4_e2m1": "fp8"}


def dtype_bits(dtype: str) -> int:
    """Bits of one element. Raises UnknownName."""
    if dtype not in DTYPE_BITS:
        raise UnknownName("dtype", dtype, DTYPE_BITS)
    return DTYPE_BITS[dtype]


def bytes_of(elements: int, dtype: str) -> int:
    """Bytes of so many elements that lie together, rounded up once. Raises UnknownName."""
    return -(-elements * dtype_bits(dtype) // BYTE_BITS)


def elements_in(num_bytes: int, dtype: str) -> int:
    """Elements that so many bytes hold. Raises UnknownName."""
    return num_bytes * BYTE_BITS // dtype_bits(dtype)


def is_integer(dtype: str) -> bool:
    """Whether elements are integers."""
    return dtype.startswith("int")


def are_places(dtype: str) -> bool:
    """Whether elements are places, which are right or wrong, and no numbers: integers of more than a byte."""
    return is_integer(dtype) and dtype_bits(dtype) > BYTE_BITS


def result_dtype(dtypes: Iterable[str]) -> str:
    """The type of a function of several: floating before integer, then the widest, then the first."""
    return max(dtypes, key=lambda dtype: (not is_integer(dtype), dtype_bits(dtype)))


def summed_dtype(dtype: str) -> str:
    """The type that sums of numbers or products have, if none is declared: integers need more bits than they have."""
    return "int32" if is_integer(dtype) and dtype_bits(dtype) < dtype_bits("int32") else dtype


def multiplied_dtype(left: str, right: str) -> str:
    """The type that a matrix unit multiplies, given operands of these: always of whole bytes.

    Operands of one type are multiplied in it, the types of fp8 as one; what has less than a byte is unpacked to a
    byte. Of two types both become the one that `result_dtype` says; an integer beside a float of a byte, which could
    not hold it, makes both bf16.
    """
    pair = [_one_of(dtype) for dtype in (left, right)]
    wanted = result_dtype(pair)
    mixed = any(map(is_integer, pair)) and not is_integer(wanted)
    return "bf16" if mixed and dtype_bits(wanted) == BYTE_BITS else wanted


def is_converted(dtype: str, multiplied: str) -> bool:
    """Whether an operand must be converted to be multiplied in a type (see multiplied_dtype): a vector op each."""
    return dtype != multiplied and not (dtype in _FP8 and multiplied in _FP8)


def _one_of(dtype: str) -> str:
    return "fp8" if dtype in _FP8 else _UNPACKED.get(dtype, dtype)

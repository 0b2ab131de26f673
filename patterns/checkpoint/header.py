"""The header of a safetensors file, read by hand: tensors by name, and every way in which it can be wrong.

Format: 8 bytes, a little-endian length; so many bytes of JSON, `{name: {dtype, shape, data_offsets: [begin, end]}}`
and maybe `__metadata__`; then the data, which the offsets (from its first byte) cover without gap or overlap.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from patterns.documents.json_document import Repeated, unrepeated
from patterns.dtypes import BYTE_BITS
from patterns.errors import Mistake, SpecError, UserError

LENGTH_BYTES = 8
# The format's own limit.
MOST_HEADER_BYTES = 100_000_000
METADATA = "__metadata__"
# Bits of an element by the format's names of types.
TYPE_BITS: Mapping[str, int] = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "U16": 16,
    "I16": 16,
    "U32": 32,
    "I32": 32,
    "U64": 64,
    "I64": 64,
    "F16": 16,
    "BF16": 16,
    "F32": 32,
    "F64": 64,
    "C64": 64,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
}
# Digits of a number in a header: no file has as many bytes as a longer one says.
MOST_DIGITS = 20
MOST_TOLD = 20


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file: its type as the format calls it, its shape, and where its bytes are."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int
    file: str

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return prod(self.shape)


def read_header(path: Path) -> tuple[StoredTensor, ...]:
    """The tensors of a file, in the order of their bytes. Raises SpecError, UserError if it cannot be read."""
    try:
        with path.open("rb") as stream:
            file_bytes = os.fstat(stream.fileno()).st_size
            text = _header_text(path, stream.read(LENGTH_BYTES), file_bytes, stream.read)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    entries = _entries(path, text)
    mistakes: list[Mistake] = []
    tensors = tuple(_tensors(str(path), entries, mistakes))
    refuse(mistakes)
    ordered = tuple(sorted(tensors, key=lambda tensor: (tensor.begin, tensor.end)))
    refuse(list(_misplaced(str(path), ordered, file_bytes - LENGTH_BYTES - len(text))))
    return ordered


def at(file: str, name: str, message: str) -> Mistake:
    """A mistake of a tensor of a binary file: its name says where."""
    return Mistake(file, 1, 1, name, message)


def refuse(mistakes: list[Mistake]) -> None:
    """Raises SpecError if there are mistakes: the first so many, and how many more there are."""
    if mistakes:
        more = len(mistakes) - MOST_TOLD
        told = [at(mistakes[0].file, "", f"and {more:,} more")] if more > 0 else []
        raise SpecError([*mistakes[:MOST_TOLD], *told])


def _header_text(path: Path, length: bytes, file_bytes: int, read: Any) -> bytes:
    said = int.from_bytes(length, "little")
    wrong = ""
    if len(length) < LENGTH_BYTES:
        wrong = f"{len(length)} bytes are too few for a safetensors file, which begins with {LENGTH_BYTES} of length"
    elif said > MOST_HEADER_BYTES:
        wrong = f"its header would have {said:,} bytes, and {MOST_HEADER_BYTES:,} are the most: no safetensors file"
    elif said > file_bytes - LENGTH_BYTES:
        wrong = (
            f"truncated: its header has {said:,} bytes, and the file has {file_bytes - LENGTH_BYTES:,} after its length"
        )
    if wrong:
        raise SpecError([at(str(path), "", wrong)])
    text: bytes = read(said)
    return text


class _Wrong(Exception):
    """What is wrong with a header's JSON."""


def _entries(path: Path, text: bytes) -> dict[str, Any]:
    try:
        data = json.loads(text.decode("utf-8"), object_pairs_hook=unrepeated, parse_int=_number)
    except UnicodeDecodeError:
        wrong = "its header is not UTF-8 text"
    except json.JSONDecodeError as error:
        wrong = f"its header is not JSON: {error.msg} at byte {error.pos:,}"
    except RecursionError:
        wrong = "its header is nested too deep"
    except Repeated as error:
        wrong = f"its header has {str(error)!r} twice"
    except _Wrong as error:
        wrong = str(error)
    else:
        if isinstance(data, dict):
            return data
        wrong = "its header is not a JSON object"
    raise SpecError([at(str(path), "", wrong)])


def _number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _Wrong(f"its header has a number of {len(digits):,} digits")
    return int(digits)


def _tensors(file: str, entries: Mapping[str, Any], mistakes: list[Mistake]) -> Iterator[StoredTensor]:
    for name, entry in entries.items():
        if name == METADATA:
            continue
        wrong = _wrong_entry(entry)
        if wrong:
            mistakes.append(at(file, name, wrong))
            continue
        begin, end = entry["data_offsets"]
        yield StoredTensor(name, entry["dtype"], tuple(entry["shape"]), begin, end, file)


def _wrong_entry(entry: Any) -> str:
    """What is wrong with a tensor's entry by itself, '' if nothing."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        return "a tensor has dtype, shape and data_offsets, and nothing else"
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in TYPE_BITS:
        return f"dtype {dtype!r} is none of {', '.join(TYPE_BITS)}"
    if not _counts(shape):
        return f"shape {shape!r} is not a list of whole numbers"
    if not _counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        return f"data_offsets {offsets!r} are not where its bytes begin and end"
    bits = prod(shape) * TYPE_BITS[dtype]
    if bits != BYTE_BITS * (offsets[1] - offsets[0]):
        return f"{dtype} {shape} takes {bits / BYTE_BITS:,.10g} bytes, and its offsets hold {offsets[1] - offsets[0]:,}"
    return ""


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _misplaced(file: str, tensors: tuple[StoredTensor, ...], data_bytes: int) -> Iterator[Mistake]:
    """Gaps and overlaps between tensors, and a file that ends too early or too late."""
    reached = 0
    for tensor in tensors:
        if tensor.begin < reached:
            yield at(file, tensor.name, f"overlaps the tensor before it by {reached - tensor.begin:,} bytes")
        elif tensor.begin > reached:
            yield at(file, tensor.name, f"{tensor.begin - reached:,} bytes before it belong to no tensor")
        reached = max(reached, tensor.end)
    if data_bytes < reached:
        yield at(file, "", f"truncated: its tensors have {reached:,} bytes, and the file has {data_bytes:,} of them")
    elif data_bytes > reached:
        yield at(file, "", f"{data_bytes - reached:,} bytes after its last tensor belong to none")

"""How operands lie in shared memory: a file in layouts/ says where each 16-byte chunk of a row is; its name is the
layout's. Bank conflicts follow from it.

Shared memory has 32 banks of 4 bytes, and gives each one word a cycle: lanes that ask one bank for different words wait
for each other. The hardware takes 128 bytes at a time, eight lanes of 16 bytes or thirty-two of 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, Protocol, cast

from gpu_model.loader import loader_named
from patterns.errors import UserError
from patterns.plugin import load_module, modules

LAYOUTS = "gpu_model.layouts"
# What CUTLASS uses on every generation, with TMA and with cp.async.
USUAL = "swizzled"
BANKS, WORD_BYTES, CHUNK_BYTES = 32, 4, 16
# Chunks of 128 bytes: as far as a swizzle reaches, and what the hardware takes at a time.
LINE_CHUNKS = BANKS * WORD_BYTES // CHUNK_BYTES
# fragments: 16 bytes of each of eight rows, as ldmatrix, wgmma and tcgen05 read operands. row: 128 bytes of neighbours,
# as loaders write them. column: 4 bytes of each of 32 rows, as a transposed read.
Access = Literal["fragments", "row", "column"]


class Layout(Protocol):
    """SCATTERED: whether rows are apart, so that a loader must place every chunk on its own; TMA writes dense boxes."""

    SCATTERED: bool

    def stride_bytes(self, row_bytes: int) -> int:
        """From a row to the next, what lies between them included."""

    def address(self, row: int, chunk: int, row_bytes: int) -> int:
        """Where a chunk of a row begins."""


def layout_names() -> tuple[str, ...]:
    """Every layout there is, sorted."""
    return modules(LAYOUTS)


def layout_named(name: str) -> Layout:
    """The layout `name`. Raises UnknownName."""
    return cast(Layout, load_module(LAYOUTS, name, "layout"))


def can_write(loader: str, name: str) -> bool:
    """Whether a loader can write a layout. Raises UnknownName."""
    return loader_named(loader).ANYWHERE or not layout_named(name).SCATTERED


def check_layout(name: str, loader: str) -> None:
    """Raises UnknownName, and UserError where a loader cannot write the layout."""
    if not can_write(loader, name):
        dense = [other for other in layout_names() if not layout_named(other).SCATTERED]
        raise UserError(f"{loader} writes dense boxes, so not the layout {name}; it can write {' or '.join(dense)}")


@lru_cache(maxsize=1024)
def conflict_ways(name: str, row_bytes: int, access: Access = "fragments") -> int:
    """Cycles that the hardware takes where one would do without conflicts: the worst of all places in a tile."""
    layout = layout_named(name)
    rows = max(CHUNK_BYTES, -(-row_bytes // CHUNK_BYTES) * CHUNK_BYTES)
    return max(_ways(words) for words in _ACCESSES[access](layout, rows))


def _ways(words: Iterable[int]) -> int:
    """Different words of the bank that most are asked of."""
    return max(Counter(word % BANKS for word in set(words)).values())


def _chunks(row_bytes: int) -> range:
    """Chunks of a row after which banks repeat."""
    return range(min(row_bytes // CHUNK_BYTES, LINE_CHUNKS))


def _fragments(layout: Layout, row_bytes: int) -> Iterator[list[int]]:
    for chunk in _chunks(row_bytes):
        yield [word for row in range(LINE_CHUNKS) for word in _words(layout.address(row, chunk, row_bytes))]


def _row(layout: Layout, row_bytes: int) -> Iterator[list[int]]:
    chunks = row_bytes // CHUNK_BYTES
    for first in range(0, LINE_CHUNKS * min(chunks, LINE_CHUNKS), LINE_CHUNKS):
        places = (divmod(number, chunks) for number in range(first, first + LINE_CHUNKS))
        yield [word for row, chunk in places for word in _words(layout.address(row, chunk, row_bytes))]


def _column(layout: Layout, row_bytes: int) -> Iterator[list[int]]:
    for chunk in _chunks(row_bytes):
        yield [layout.address(row, chunk, row_bytes) // WORD_BYTES for row in range(BANKS)]


def _words(address: int) -> range:
    return range(address // WORD_BYTES, (address + CHUNK_BYTES) // WORD_BYTES)


_ACCESSES: Mapping[Access, Callable[[Layout, int], Iterator[list[int]]]] = {
    "fragments": _fragments,
    "row": _row,
    "column": _column,
}


def padding_bytes(name: str, slot_bytes: int, row_bytes: int) -> int:
    """What a slot of rows takes in shared memory beside its own bytes."""
    if not row_bytes:
        return 0
    return slot_bytes // row_bytes * (layout_named(name).stride_bytes(row_bytes) - row_bytes)

"""Dense rows whose 16-byte chunks change places from row to row: TMA's swizzles of 128, 64 and 32 bytes.

The number of a chunk within 128 bytes is combined, bit by bit, with the number of its 128 bytes (exclusive or), in as
many bits as the row has chunks. Rows of more than 128 bytes lie in panels of 128, as TMA's boxes.
"""

from __future__ import annotations

SCATTERED = False
CHUNK_BYTES = 16
LINE_BYTES = 128
# Any distance that keeps panels on the same banks.
PANEL_BYTES = 2**20


def stride_bytes(row_bytes: int) -> int:
    """The row itself."""
    return row_bytes


def address(row: int, chunk: int, row_bytes: int) -> int:
    """A chunk's place after the exchange."""
    of_panel = min(row_bytes, LINE_BYTES)
    panel, within = divmod(chunk * CHUNK_BYTES, of_panel)
    plain = row * of_panel + within
    mask = of_panel // CHUNK_BYTES - 1
    return panel * PANEL_BYTES + (plain ^ ((plain // LINE_BYTES & mask) * CHUNK_BYTES))

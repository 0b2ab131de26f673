"""Row after row, with 16 bytes left free between them: the next row begins four banks on."""

from __future__ import annotations

SCATTERED = True
CHUNK_BYTES = 16


def stride_bytes(row_bytes: int) -> int:
    """The row and what is left free after it."""
    return row_bytes + CHUNK_BYTES


def address(row: int, chunk: int, row_bytes: int) -> int:
    """Chunks of a row one after another."""
    return row * stride_bytes(row_bytes) + chunk * CHUNK_BYTES

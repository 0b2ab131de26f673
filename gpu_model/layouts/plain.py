"""Row after row: rows of 128 bytes all begin at the first bank."""

from __future__ import annotations

SCATTERED = False
CHUNK_BYTES = 16


def stride_bytes(row_bytes: int) -> int:
    """The row itself."""
    return row_bytes


def address(row: int, chunk: int, row_bytes: int) -> int:
    """Chunks of a row one after another."""
    return row * row_bytes + chunk * CHUNK_BYTES

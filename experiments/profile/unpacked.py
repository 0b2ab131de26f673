"""The bytes of a file that may be packed with gzip, piece by piece, as far as they are whole."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

PIECE = 2**18
GZIP = b"\x1f\x8b"
# What zlib calls a stream with a gzip header.
GZIP_STREAM = 31


class BrokenPack(Exception):
    """The packed data is broken or cut off; everything before was given."""


def pieces(path: Path) -> Iterator[bytes]:
    """The content, never much more than PIECE at once. Raises BrokenPack, OSError."""
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        yield from _unpacked(file) if packed else iter(lambda: file.read(PIECE), b"")


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """The content of all streams that the file is packed in, one after the other."""
    stream = zlib.decompressobj(GZIP_STREAM)
    raw = file.read(PIECE)
    try:
        while raw:
            yield stream.decompress(raw, PIECE)
            raw = stream.unconsumed_tail
            if stream.eof:
                raw = stream.unused_data.lstrip(b"\0") or file.read(PIECE).lstrip(b"\0")
                stream = zlib.decompressobj(GZIP_STREAM) if raw else stream
            elif not raw:
                raw = file.read(PIECE)
    except zlib.error as error:
        raise BrokenPack(f"the gzip data is broken ({error})") from error
    if not stream.eof:
        raise BrokenPack("the gzip data is cut off")

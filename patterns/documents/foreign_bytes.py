"""What the first bytes of a file are that is not the UTF-8 text that is due, and what to do with it."""

from __future__ import annotations

import codecs

# What packs or writes files, by the first bytes that it gives them: what it is, and what would help.
_SIGNS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "packed with gzip", "unpack it first: gunzip"),
    (b"BZh", "packed with bzip2", "unpack it first: bunzip2"),
    (b"\xfd7zXZ\0", "packed with xz", "unpack it first: unxz"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it first: unzstd"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (codecs.BOM_UTF32_LE, "text in UTF-32", "save it as UTF-8: iconv -f UTF-32 -t UTF-8"),
    (codecs.BOM_UTF32_BE, "text in UTF-32", "save it as UTF-8: iconv -f UTF-32 -t UTF-8"),
    (codecs.BOM_UTF16_LE, "text in UTF-16", "save it as UTF-8: iconv -f UTF-16 -t UTF-8"),
    (codecs.BOM_UTF16_BE, "text in UTF-16", "save it as UTF-8: iconv -f UTF-16 -t UTF-8"),
)
_TAR = b"ustar"
_TAR_PLACE = 257


def foreign(head: bytes) -> tuple[str, str]:
    """What a file is that begins like this, and what would help; two '' for what may be UTF-8 text or is unknown."""
    for sign, what, remedy in _SIGNS:
        if head.startswith(sign):
            return what, remedy
    if head[_TAR_PLACE:].startswith(_TAR):
        return "a tar archive", "unpack it first: tar -xf"
    # Text in Latin letters and without a mark has a zero in every second byte.
    for order, zeros, letters in (("LE", head[1:64:2], head[0:64:2]), ("BE", head[0:64:2], head[1:64:2])):
        if len(zeros) > 1 and not any(zeros) and all(letters):
            return "text in UTF-16", f"save it as UTF-8: iconv -f UTF-16{order} -t UTF-8"
    return "", ""

"""Files that nobody wrote: bytes of sound files, changed at random."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

# What a reader may trip over, by itself or in the place of something sound.
PIECES = (
    *(
        b"",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\r\n",
        b"\t",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"- ",
        b"? ",
        b": ",
        b", ",
    ),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b"&a ",
        b"*a",
        b"<<: *a",
        b"!!python/object:os.system ",
        b"!!int ",
        b"| ",
        b">\n",
        b"---\n",
    ),
    *(
        b"...\n",
        b"%YAML 9.9\n",
        b"#",
        b"'",
        b'"',
        b"~",
        b"null",
        b"true",
        b"on",
        b"010",
        b"1e5",
        b".nan",
        b".inf",
        b"-1",
    ),
    *(b"0", b"1" * 40, b"9" * 5000, b"0x" + b"f" * 300, b"2**8**8", b"2 ** 8", b"1 // 0", b"log2(3)", b"a" * 70_000),
    *(
        b"(" * 200,
        b"[" * 2000,
        b"{a: " * 300,
        b"-" * 600 + b"1",
        b"hidden",
        b"nodes:\n",
        b"blocks:\n",
        b"count: ",
        b"fn: ",
    ),
    *(
        b"reads: [x, x]",
        b"dims: []",
        b"over: [rows, rows]",
        b"use: ",
        b"dtype: int4",
        b"requires: [1 > 2]",
        b"kind: scan",
    ),
    *(b"kind: select", b"window: -3", b"distinct: uniform", b"carried: {a: b}", b"role: state", b"NaN", b"Infinity"),
    *(
        b'"num_hidden_layers": 0',
        b'"architectures": ["MixtralForCausalLM"]',
        b'"torch_dtype": 3',
        b'"rope_scaling": {}',
    ),
)


def mutated(sound: bytes, others: list[bytes], random: Random) -> bytes:
    """A file with a few changes, each of some kind."""
    found = sound
    for _ in range(random.randint(1, 4)):
        found = random.choice(CHANGES)(found, others, random)
    return found


def _flipped(text: bytes, others: list[bytes], random: Random) -> bytes:
    at = random.randrange(len(text) + 1)
    return text[:at] + bytes([random.randrange(256)]) + text[at + 1 :]


def _cut(text: bytes, others: list[bytes], random: Random) -> bytes:
    begin = random.randrange(len(text) + 1)
    return text[:begin] + text[begin + random.choice((1, 2, 8, 60, 400)) :]


def _put_in(text: bytes, others: list[bytes], random: Random) -> bytes:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(PIECES) + text[at + random.choice((0, 0, 1, 4)) :]


def _word_replaced(text: bytes, others: list[bytes], random: Random) -> bytes:
    words = text.split(b" ")
    at = random.randrange(len(words))
    words[at] = random.choice((*PIECES, words[random.randrange(len(words))]))
    return b" ".join(words)


def _line_moved(text: bytes, others: list[bytes], random: Random) -> bytes:
    lines = text.split(b"\n")
    taken = lines[random.randrange(len(lines))] if random.random() < 0.5 else lines.pop(random.randrange(len(lines)))
    lines.insert(random.randrange(len(lines) + 1), b" " * random.choice((0, 0, 2, 4)) + taken)
    return b"\n".join(lines)


def _crossed(text: bytes, others: list[bytes], random: Random) -> bytes:
    other = random.choice(others)
    return text[: random.randrange(len(text) + 1)] + other[random.randrange(len(other) + 1) :]


def _repeated(text: bytes, others: list[bytes], random: Random) -> bytes:
    begin = random.randrange(len(text) + 1)
    piece = text[begin : begin + random.choice((1, 10, 200))]
    return text[:begin] + piece * random.choice((2, 3, 50, 2000)) + text[begin:]


Change = Callable[[bytes, list[bytes], Random], bytes]
CHANGES: tuple[Change, ...] = (
    _flipped,
    _cut,
    _put_in,
    _put_in,
    _word_replaced,
    _word_replaced,
    _line_moved,
    _crossed,
    _repeated,
)

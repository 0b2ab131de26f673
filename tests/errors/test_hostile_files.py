"""Files made to hurt: each is refused with its place, in two seconds of CPU and 200 MB, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
MERGED_BOMB = "a0: &a0 {b: x, c: x}\n" + "".join(
    f"a{i}: &a{i} {{b: {{<<: *a{i - 1}}}, c: {{<<: *a{i - 1}}}}}\n" for i in range(1, 30)
)
DEEP_BY_ALIAS = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [[[*a{i - 1}]]]\n" for i in range(1, 30))
MISTAKES = (
    "name: many\nextents: {rows: 8}\ntensors:\n  x: {dims: [rows], dtype: bf16, role: input}\nnodes:\n"
    + "".join(f"  node{i}: {{kind: map, fn: exp, reads: [nude{i}]}}\n" for i in range(8_000))
)
BLOCKS = "name: many\nextents: {rows: 8}\ntensors:\n  x: {dims: [rows], dtype: bf16, role: input}\nblocks:\n" + "".join(
    f"  b{i}: {{nodes: {{n{i}: {{kind: map, fn: exp, reads: [x, y{i}]}}}}}}\n" for i in range(7_000)
)
NODES = "nodes: {a: {kind: map, fn: exp, reads: [x]}}\n"
RING = "name: ring\nextents:\n" + "".join(f"  x{i}: x{(i + 1) % 15_000} + x0\n" for i in range(15_000)) + NODES
UNKNOWN = "name: many\nextents:\n" + "".join(f"  x{i}: y{i}\n" for i in range(20_000)) + NODES

HOSTILE = {
    "alias bomb": (BOMB, "more than 100,000 values once aliases are expanded"),
    "bomb of merge keys": (MERGED_BOMB, "more than 100,000 values once aliases are expanded"),
    "deep by alias": (DEEP_BY_ALIAS, "nested deeper than 64 levels"),
    "deep flow list": ("[" * 200_000, "g.yaml:1:1001: nested deeper than 64 levels"),
    "deep flow list, closed": ("[" * 200_000 + "]" * 200_000, "g.yaml:1:1001: nested deeper than 64 levels"),
    "deep flow mapping": ("{a: " * 200_000, "nested deeper than 64 levels"),
    "deep block list": ("- " * 200_000 + "x", "g.yaml:1:131: 0.0.0"),
    "deep keys": ("? " * 200_000, "g.yaml:1:3: a key is a word"),
    "deep indentation": ("".join(f"{' ' * i}a:\n" for i in range(1_000)), "nested deeper than 64 levels"),
    "too large": ("x" * (2**20 + 1), "g.yaml:1:1: larger than 1,048,576 bytes"),
    "too many values": ("[" + "x," * 200_000 + "]", "more than 100,000 values"),
    "long number": ("name: " + "9" * 1_000_000, "a number of 1,000,000 characters"),
    "long exponent": ("name: 1e" + "9" * 300, "is too large to hold"),
    "long word": ("name: " + "x" * 1_000_000, "g.yaml:1:7: name: at most 100 characters are due"),
    "long expression": (
        f"name: a\nextents: {{a: {'+'.join(['1'] * 1000)}}}\n{NODES}",
        "of 1,999 characters; at most 500",
    ),
    "many mistakes": (MISTAKES, "g.yaml:6:39: nodes.node0.reads.0: unknown tensor 'nude0'"),
    "many blocks": (BLOCKS, "blocks.b199.nodes.n199.reads.1: unknown tensor 'y199'\n... and 6,800 mistakes more"),
    "ring of extents": (RING, "x1 -> x2"),
    "unknown extents": (UNKNOWN, "unknown extent 'y199'\n... and 19,801 mistakes more"),
}
SCRIPT = """
import sys, time
from patterns.errors import SpecError
from patterns.read import parse_graph
text = sys.stdin.read()
start = time.process_time()
try:
    parse_graph(text, "g.yaml")
except SpecError as error:
    print(time.process_time() - start)
    # getrusage counts what the parent had when it forked; this is of the program alone.
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(int(peak.split()[1]) // 1024)
    print(error)
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_quickly(name: str) -> None:
    text, message = HOSTILE[name]
    done = subprocess.run([sys.executable, "-c", SCRIPT], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    seconds, megabytes, told = done.stdout.split("\n", 2)
    assert message in told
    assert float(seconds) < 2
    assert int(megabytes) < 200

"""Attention over `keys` whose probabilities, `p`, have a ROLE to be filled in: who else may read them."""

from __future__ import annotations

ATTENTION = """
name: seen
extents: {rows: 64, keys: 256, d: 64}
tensors:
  q: {dims: [rows, d], dtype: bf16, role: input}
  k: {dims: [keys, d], dtype: bf16, role: input}
  v: {dims: [keys, d], dtype: bf16, role: input}
  p: {dims: [rows, keys], dtype: bf16, role: ROLE}
  y: {dims: [rows, d], dtype: bf16, role: output}
nodes:
  s: {kind: mm, reads: [q, k], over: [d]}
  top: {kind: reduce, fn: max, reads: [s], over: [keys]}
  shifted: {kind: zip, fn: sub, reads: [s, top]}
  e: {kind: map, fn: exp, reads: [shifted]}
  total: {kind: reduce, fn: sum, reads: [e], over: [keys]}
  p: {kind: zip, fn: div, reads: [e, total]}
  y: {kind: mm, reads: [p, v], over: [keys]}
"""

"""Counts in words."""

from __future__ import annotations


def number_of(count: int, noun: str, nouns: str = "") -> str:
    """'1 block', '3 blocks'. nouns: for several, where that is no s more."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"

"""Counts in words."""

from __future__ import annotations


def number_of(count: int, noun: str) -> str:
    """'1 block', '3 blocks'."""
    return f"{count:,} {noun}{'s' if count != 1 else ''}"

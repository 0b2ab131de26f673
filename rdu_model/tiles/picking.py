"""Picks: what a mapping or a sequence has at fixed keys, together something to remember results by."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any

# Of a mapping or a sequence, what it has at some keys.
Pick = Callable[[Any], Hashable]


def pick(keys: Sequence[Hashable]) -> Pick:
    """What a mapping or a sequence has at these keys: of one key the value itself, of none nothing."""
    return itemgetter(*keys) if keys else _nothing


def _nothing(_: object) -> Hashable:
    return ()

"""Memos of the models: forgotten, so that what follows is computed as in a new process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from typing import Any

PACKAGES = ("patterns", "gpu_model", "rdu_model")


def memos() -> Iterator[_lru_cache_wrapper[Any]]:
    """Every memo of the modules that are loaded."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in PACKAGES:
            yield from (value for value in vars(module).values() if isinstance(value, _lru_cache_wrapper))


def forget() -> None:
    """Empty all of them."""
    for memo in memos():
        memo.cache_clear()

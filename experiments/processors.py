"""How many processors there are to share work among."""

from __future__ import annotations

import os


def processors() -> int:
    """Processors that this process may use: fewer than the machine has where it is bound to some of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

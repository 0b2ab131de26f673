"""Ctrl-C is of the process that a user started: those that it starts never see it, and are ended by it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_held() -> Iterator[None]:
    """Processes that are started meanwhile never see Ctrl-C, which is the driver's; its own comes when this ends."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # comes with the first worker otherwise, and lets Ctrl-C through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

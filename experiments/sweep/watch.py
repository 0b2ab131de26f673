"""What a worker process does besides its work: it ends when its driver is gone."""

from __future__ import annotations

import os
import threading
import time

POLL_S = 0.5


def watch(driver: int) -> None:
    """Let this process end as soon as it is no child of `driver` any more, whatever it does. Called once in it."""
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()


def _end_with(driver: int) -> None:
    while os.getppid() == driver:
        time.sleep(POLL_S)
    os._exit(1)

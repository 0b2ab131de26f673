"""Chunks of a sweep on a Dask cluster. A chunk of a worker that is lost is run again; a row comes back once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

from experiments.sweep.chunks import Done, run_chunk
from experiments.sweep.identity import model_version
from patterns.errors import UserError

if TYPE_CHECKING:
    from experiments.sweep.workers import Chunks

CONNECT_S = 3
WORKERS_S = 10
# Chunks that each thread of the cluster has or waits for.
AHEAD = 2


def on_cluster(address: str, chunks: Chunks, extras: tuple[str, ...]) -> Iterator[Done]:
    """What comes back of every chunk. Raises UserError: no scheduler, no workers, another release, a lost cluster."""
    with _connected(address) as client:
        ahead = AHEAD * sum(client.nthreads().values())
        waiting = import_module("distributed").as_completed(loop=client.loop)
        submitted = (client.submit(run_chunk, chunk, extras, pure=False) for chunk in chunks)
        for future in islice(submitted, ahead):
            waiting.add(future)
        for future in waiting:
            done: Done = future.result()
            if done.model != model_version():
                raise UserError(f"a worker of {address} has another release of patternloom: install the same on all")
            if (more := next(submitted, None)) is not None:
                waiting.add(more)
            yield done


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of a cluster that has workers. Raises UserError."""
    try:
        distributed = import_module("distributed")
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise UserError(
            "--scheduler needs the package distributed: pip install 'patternloom[cluster]', here and on the workers"
        ) from None
    try:
        asyncio.run(_spoken_to(address))  # a client of what is no scheduler would linger
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(f"there is no Dask scheduler at {address}: {_first_line(error)}") from None
    except MemoryError:  # the first letters of another protocol, read as a length
        raise UserError(f"there is no Dask scheduler at {address}: what answers there speaks otherwise") from None
    quiet = logging.getLogger("distributed")
    level = quiet.level
    quiet.setLevel(logging.CRITICAL + 1)  # what matters of a cluster that is lost is told in a line
    try:
        client.wait_for_workers(1, timeout=WORKERS_S)
        client.submit(model_version, pure=False).result(timeout=WORKERS_S * 3)
        yield client
    except TimeoutError:
        raise UserError(f"the scheduler at {address} has no workers") from None
    except (ImportError, AttributeError) as error:
        raise UserError(f"the workers of {address} cannot import patternloom: {_first_line(error)}") from None
    except (CommClosedError, FutureCancelledError, KilledWorker, OSError) as error:
        raise UserError(f"lost the cluster at {address}: {_first_line(error)}; the rows so far are kept") from None
    finally:
        client.close(timeout=CONNECT_S)
        quiet.setLevel(level)


async def _spoken_to(address: str) -> None:
    """Greet what is at an address as a client does. Raises OSError, ValueError or MemoryError."""
    connect: Any = import_module("distributed.comm").connect
    comm = await connect(address, timeout=CONNECT_S)
    await comm.close()


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]

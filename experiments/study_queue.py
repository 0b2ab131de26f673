"""Several studies, one after another or in as many processes as are asked for. One that fails does not stop others."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.ctrl_c import ctrl_c_held
from experiments.output import NoRoom
from experiments.study_folder import write_study
from patterns.errors import UserError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Modules that a process needs for any study: loaded once, where processes are made from one that has them.
PRELOADED = ["experiments.survey", "experiments.page.study", "gpu_model.lowering", "rdu_model.lowering"]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Ended:
    """A study that was run and written: what it found; or why it was not. `full`: there is no room for others."""

    name: str
    finding: str = ""
    failure: str = ""
    full: bool = False


def run_studies(names: Sequence[str], output: Path, jobs: int, tell: Tell) -> Iterator[Ended]:
    """Run and write each study, in the folder of its name, as they end. tell: told what begins and, of one job, rows.

    A mistake of a user ends its study alone; so does, with several jobs, whatever else goes wrong in its process.
    """
    if jobs > 1 and len(names) > 1:
        yield from _in_processes(names, output, jobs, tell)
        return
    for name in names:
        tell(f"running {name} ...")
        yield one_study(name, output, lambda row: tell(f"  {row}"))


def one_study(name: str, output: Path, tell: Tell) -> Ended:
    """Run a study here."""
    from experiments.study import run_study

    try:
        result = run_study(name, tell)
        write_study(output / name, name, result)
    except UserError as error:
        return Ended(name, failure=str(error), full=isinstance(error, NoRoom))
    return Ended(name, result.finding)


def _in_processes(names: Sequence[str], output: Path, jobs: int, tell: Tell) -> Iterator[Ended]:
    from multiprocessing import connection, get_all_start_methods, get_context

    forks = "forkserver" in get_all_start_methods()
    context: Any = get_context("forkserver" if forks else "spawn")
    if forks:
        context.set_forkserver_preload(PRELOADED)
    waiting = deque(names)
    running: dict[str, tuple[Any, Connection]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.popleft()
                tell(f"running {name} ...")
                with ctrl_c_held():
                    running[name] = _started(context, name, output)
            # What a process sends may be more than a pipe holds: it ends only when that is read.
            heard = connection.wait([one for process, pipe in running.values() for one in (process.sentinel, pipe)])
            for name in [name for name, (process, pipe) in running.items() if {process.sentinel, pipe} & {*heard}]:
                yield _ended(name, *running.pop(name))
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join()


def _started(context: Any, name: str, output: Path) -> tuple[Any, Connection]:
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(name, output, sender), daemon=True)
    process.start()
    sender.close()
    return process, receiver


def _child(name: str, output: Path, sender: Connection) -> None:
    """A process of one study. Ctrl-C is the parent's, which ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sender.send(one_study(name, output, lambda row: None))
    sender.close()


def _ended(name: str, process: Any, receiver: Connection) -> Ended:
    """What a process has sent, or how it ended."""
    try:
        found = receiver.recv() if receiver.poll() else None
    except EOFError:
        found = None
    finally:
        receiver.close()
    process.join()
    return found if isinstance(found, Ended) else Ended(name, failure=f"its process ended with {process.exitcode}")

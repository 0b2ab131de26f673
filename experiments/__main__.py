"""The command `patternloom`: runs cli.py and turns how it ended into an exit status."""

from __future__ import annotations

import os
import signal
import sys
from errno import EACCES, EDQUOT, EFBIG, EIO, ELOOP, ENAMETOOLONG, ENOSPC, EPERM
from typing import NoReturn

USER_ERROR = 2
INTERRUPTED = 130
SIGNALLED = 128
# Why a file or a device that stdout leads to takes no more.
NO_ROOM = (ENOSPC, EDQUOT, EFBIG, EIO)
# What may be wrong with the name of a file or folder that a user gives.
OF_NAMES = (ENAMETOOLONG, EACCES, EPERM, ELOOP)


def main() -> None:
    """Run the command line of this process and exit: 0, 2 for a mistake of the user's, 130 for Ctrl-C, 143 for SIGTERM.

    What ends it from outside ends it as Ctrl-C does: files are whole or not there, and no worker stays.
    """
    _need_streams()
    for name in ("SIGTERM", "SIGHUP"):  # not every system has them, and nohup has the second ignored
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _ended)
    sys.exit(run(sys.argv[1:]))


def _need_streams() -> None:
    """Streams that are closed from the first lead nowhere: no file that is opened later takes their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    # Worker processes are started with both.
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _ended(number: int, _frame: object) -> NoReturn:
    """Leave by an exception, so that all that is open is closed; the next signal ends at once. Raises SystemExit."""
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(SIGNALLED + number)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status. Data goes to stdout, everything else to stderr.

    Raises SystemExit with status 1, quietly, where the reader of stdout went away (`| head`).
    """
    try:
        import click

        from experiments.cli import cli
    except KeyboardInterrupt:
        return INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status = cli.main(arguments, prog_name="patternloom", standalone_mode=False)
    except click.Abort:
        # Python remembers a Ctrl-C that came inside an `eval` (as named tuples are made by) even if it was caught, and
        # would end by the signal instead of with our status; running another text makes it forget.
        exec("")
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USER_ERROR
    except OSError as error:
        what = _told(error)
        if not what:
            raise
        click.echo(f"Error: {what}: {(error.strerror or str(error)).lower()}", err=True)
        return USER_ERROR
    return status if isinstance(status, int) else 0


def _told(error: OSError) -> str:
    """What the system refuses, where that is nothing of ours; '' for a bug."""
    if error.errno in NO_ROOM:
        return "cannot write the output"
    return f"cannot use {error.filename}" if error.errno in OF_NAMES and error.filename else ""


if __name__ == "__main__":
    main()

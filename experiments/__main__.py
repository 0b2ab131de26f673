"""The command `patternloom`: runs cli.py and turns how it ended into an exit status."""

from __future__ import annotations

import sys
from errno import EDQUOT, EFBIG, EIO, ENOSPC

USER_ERROR = 2
INTERRUPTED = 130
# Why a file or a device that stdout leads to takes no more.
NO_ROOM = (ENOSPC, EDQUOT, EFBIG, EIO)


def main() -> None:
    """Run the command line of this process and exit: 0, 2 for a mistake of the user's, 130 for Ctrl-C."""
    sys.exit(run(sys.argv[1:]))


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
        if error.errno not in NO_ROOM:
            raise
        click.echo(f"Error: cannot write the output: {(error.strerror or str(error)).lower()}", err=True)
        return USER_ERROR
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    main()

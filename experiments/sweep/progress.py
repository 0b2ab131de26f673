"""How far a sweep is, on stderr: a bar at a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import click

LINE_S = 10.0

# Told of the points that are done since it was told last.
Tell = Callable[[int], None]


def untold(points: int) -> None:
    """Tell nobody."""


@contextmanager
def progress(points: int) -> Iterator[Tell]:
    """What to tell of points as they are done: how many, how many a second, and the time left."""
    if points == 0:
        yield untold
    elif sys.stderr is not None and sys.stderr.isatty():
        with _bar(points) as tell:
            yield tell
    else:
        yield _lines(points)


@contextmanager
def silent(points: int) -> Iterator[Tell]:
    """Nobody is told, as where a script runs the sweep."""
    yield untold


@contextmanager
def _bar(points: int) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, begun, done = bar.add_task("", total=points, rate=""), perf_counter(), 0

        def tell(more: int) -> None:
            nonlocal done
            done += more
            bar.update(task, advance=more, rate=rate_text(done, perf_counter() - begun))

        yield tell


def _lines(points: int) -> Tell:
    begun = last = perf_counter()
    done = 0

    def tell(more: int) -> None:
        nonlocal done, last
        done += more
        now = perf_counter()
        if now - last >= LINE_S and done < points:
            last = now
            left = (points - done) * (now - begun) / done
            told = f"{done:,} of {points:,} points, {rate_text(done, now - begun)}, {left:,.0f} s left"
            click.echo(told, err=True)

    return tell


def rate_text(points: int, seconds: float) -> str:
    """'160 a second', '2.5 s each'."""
    if seconds <= 0 or points <= 0:
        return ""
    rate = points / seconds
    return f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second" if rate >= 1 else f"{1 / rate:.1f} s each"

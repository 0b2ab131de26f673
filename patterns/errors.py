"""What a user can get wrong. Anything else that raises is a bug.

Every class here ends the command with exit status 2 and its message, without a traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

# A line that is repeated a thousand times is as many mistakes: nobody reads them all.
_TOLD_MISTAKES = 200


class UserError(Exception):
    """A mistake of the user's, told in one message that says what would help."""


@dataclass(frozen=True)
class Mistake:
    """One mistake in a file: where it is (line and column count from 1) and what would be right."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self._place}: {self._told}"

    @property
    def warning(self) -> str:
        """The mistake as a warning."""
        return f"{self._place}: warning: {self._told}"

    @property
    def _place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def _told(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class SpecError(UserError):
    """A file is wrong: every mistake in it, one a line in the order of the file; of many the text has the first."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda m: (m.file, m.line, m.column)))
        lines = [str(mistake) for mistake in self.mistakes[:_TOLD_MISTAKES]]
        more = len(self.mistakes) - len(lines)
        super().__init__("\n".join([*lines, *([f"... and {more:,} mistakes more"] if more else [])]))


class UnknownName(UserError):
    """A name that does not exist: what there is, and the nearest to it."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.what, self.name = what, name
        self.known = tuple(sorted(known))
        super().__init__(f"unknown {what} {name!r}{did_you_mean(name, self.known)}; there is: {', '.join(self.known)}")


class DoesNotFit(UserError):
    """A plan asks a machine for more than it has: what is needed, what there is, what would help.

    would_do: the nearest change that would do, where whoever raises knows it ('4 stages would do'). memory: whether it
    is the memory that holds the whole graph, which members share.
    """

    def __init__(
        self,
        what: str,
        resource: str,
        needed: int,
        available: int,
        help_text: str,
        *,
        would_do: str = "",
        memory: bool = False,
    ) -> None:
        self.what = what
        self.resource = resource
        self.needed = needed
        self.available = available
        self.help_text = help_text
        self.would_do = would_do
        self.memory = memory
        super().__init__(f"{what} does not fit: needs {needed:,} {resource}, there is {available:,}; {help_text}")

    @property
    def nearest(self) -> str:
        """What would help, most of all a change that is known to do."""
        return self.would_do or self.help_text


class Deadlock(UserError):
    """A program stopped before its end: each stuck role, and the channel depth that would do."""


class BrokenInvariant(AssertionError):
    """A run came out as no run can: faster than its bound, a part below 0, parts that are not the whole. It is a bug,
    and no user's mistake; whoever runs many points tells of it and goes on.
    """


# A hostile file has names by the ten thousand, or of a megabyte; comparing all of them would take hours.
_COMPARED_NAMES = 1000
_COMPARED_LETTERS = 60


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """' (did you mean X?)' for the nearest known name, of those that begin with it if some do, else ''."""
    if len(name) > _COMPARED_LETTERS:
        return ""
    compared = {other.lower(): other for other in islice(known, _COMPARED_NAMES) if len(other) <= _COMPARED_LETTERS}
    asked = name.lower()
    longer = [other for other in compared if asked and other.startswith(asked)]
    close = get_close_matches(asked, longer or compared, n=1, cutoff=0.6)
    return f" (did you mean {compared[close[0]]!r}?)" if close else ""

"""Items of a huge JSON file one by one: memory holds a piece of the text and one item, whatever the file's size."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from experiments.profile.recording import Unreadable
from experiments.profile.unpacked import BrokenPack, pieces

# One item, or one value beside the list of events. Call stacks are long, but not this long.
MOST_LETTERS = 2**26
# Text after unpacking: beyond it a file takes minutes, and a small .gz may hold any amount.
MOST_TEXT = 4 * 10**9
FEWER = "record fewer steps (torch.profiler.schedule(active=3)) and without with_stack or profile_memory"
BLANK = " \t\r\n"


class JsonStream:
    """A JSON text that is read piece by piece. Numbers with a fraction stay text: a double has not their digits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text, self.place, self.before = "", 0, 0
        # What is told of a text that ends too early.
        self.ending = "it ends in the middle"
        self.decoder = json.JSONDecoder(parse_float=str)
        self.letters = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.pieces = pieces(path)

    def members(self) -> Iterator[tuple[str, object]]:
        """(key, value) of the object that the text is; the value of an array is an iterator over its items, which
        must be used up before the next member is asked for. A bare array is one member without a name.
        """
        if self._peek() == "[":
            yield "", self._items()
            return
        self._take("{")
        while self._peek() != "}":
            key = self._value()
            self._take(":")
            yield str(key), self._items() if self._peek() == "[" else self._value()
            self._comma("}")

    def _items(self) -> Iterator[object]:
        self._take("[")
        while self._peek() != "]":
            yield self._value()
            self._comma("]")
        self._take("]")

    def _comma(self, end: str) -> None:
        if self._peek() != end:
            self._take(",")

    def _peek(self) -> str:
        """The next letter that is no blank."""
        while True:
            while self.place < len(self.text) and self.text[self.place] in BLANK:
                self.place += 1
            if self.place < len(self.text):
                return self.text[self.place]
            if not self._more():
                self._fail(self.ending)

    def _take(self, letter: str) -> None:
        if self._peek() != letter:
            self._fail(f"a {letter!r} is due, not {self.text[self.place]!r}")
        self.place += 1

    def _value(self) -> object:
        """The next value whole; reads on while its end is not there yet."""
        self._peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.place)
            except json.JSONDecodeError as error:
                if self._is_wrong(error):
                    self._fail(f"{error.msg[:1].lower()}{error.msg[1:]}")
            except (ValueError, RecursionError) as error:  # a number of thousands of digits, or nested without end
                self._fail(str(error).partition(";")[0].partition(":")[0].lower())
            else:
                # A number may go on in the next piece.
                if end < len(self.text) or not self._more():
                    self.place = end
                    return value
                continue
            if not self._more():
                self._fail(self.ending)

    def _is_wrong(self, error: json.JSONDecodeError) -> bool:
        """Whether no further text could mend an error: it is far from where the text ends for now."""
        open_string = error.msg.startswith(("Unterminated", "Invalid \\"))
        return error.pos + 16 < len(self.text) and not open_string

    def _more(self) -> bool:
        """Read on, twice as far each time; False at the end of the file."""
        self.text, self.before, self.place = self.text[self.place :], self.before + self.place, 0
        if len(self.text) > MOST_LETTERS:
            self._fail(f"one value has more than {MOST_LETTERS:,} letters")
        if self.before > MOST_TEXT:
            raise Unreadable(self.path, f"more than {MOST_TEXT // 10**9} GB of text", FEWER)
        wanted, held = max(1, len(self.text)), len(self.text)
        try:
            for piece in self.pieces:
                self.text += self.letters.decode(piece)
                if len(self.text) >= held + wanted:
                    break
        except BrokenPack as error:
            self.ending = str(error)
        except OSError as error:
            raise Unreadable(self.path, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
        return len(self.text) > held

    def _fail(self, problem: str) -> NoReturn:
        raise BrokenText(problem, self.before + self.place)


class BrokenText(Exception):
    """The text is no JSON from a place on (letters from the start); whoever reads knows what came before."""

    def __init__(self, problem: str, place: int) -> None:
        self.problem, self.place = problem, place
        super().__init__(problem)

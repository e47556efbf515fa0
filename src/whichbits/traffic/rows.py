"""Rows of a JSON file that may be larger than memory: found in one pass, and read again one by one when needed.

Of a row only its place is kept (16 bytes); a file is one array, or an object a line.
"""

import codecs
import json
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from whichbits.traffic.facts import Counts
from whichbits.traffic.version import unreadable

MOST_BYTES = 64 * 2**20
"""No conversation is longer; a row that is no JSON is given up after these."""

_PIECE_BYTES = 2**20
_BYTE_ORDER_MARK = codecs.BOM_UTF8
_SEPARATORS = re.compile(r"[ \t\r\n,]*")
_decoder = json.JSONDecoder()


class _Broken:
    """Stands for a row that is no JSON."""


BROKEN = _Broken()


class Row(NamedTuple):
    """A row's value, or ``BROKEN``, and the bytes where it stands."""

    value: Any
    start: int
    length: int


@dataclass(frozen=True)
class Rows:
    """Where the usable rows of a file stand, and what became of the others."""

    path: Path
    starts: Sequence[int]
    lengths: Sequence[int]
    counts: Counts

    def __len__(self) -> int:
        """Return the number of usable rows."""
        return len(self.starts)

    def read(self, wanted: Sequence[int]) -> list[Any]:
        """Return the values of usable rows by their number, in that order."""
        try:
            with self.path.open("rb") as file:
                return [self._value(file, number) for number in wanted]
        except OSError as error:
            raise unreadable(self.path, error) from None

    def _value(self, file: BinaryIO, number: int) -> Any:
        file.seek(self.starts[number])
        return json.loads(file.read(self.lengths[number]))


def find_rows(path: Path, unusable: Callable[[Any], str | None]) -> Rows:
    """Return the rows for which ``unusable`` gives no reason; the others are counted by theirs.

    Raises:
        BadInput: ``traffic_file_unreadable``.
    """
    starts, lengths, counts = array("q"), array("q"), Counts()
    try:
        with path.open("rb") as file:
            for number, row in enumerate(each_row(file), 1):
                reason = "not_json" if row.value is BROKEN else unusable(row.value)
                counts.count(number, reason)
                if reason is None:
                    starts.append(row.start)
                    lengths.append(row.length)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    return Rows(path, starts, lengths, counts)


def each_row(file: BinaryIO) -> Iterator[Row]:
    """Yield the items of an array, or the lines of anything else; memory is bounded by the longest of them."""
    start = len(_BYTE_ORDER_MARK) if file.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK else 0
    file.seek(start)
    while (letter := file.read(1)) and letter.isspace():
        pass
    if letter == b"[":
        return _items(file)
    file.seek(start)
    return _lines(file)


def _lines(file: BinaryIO) -> Iterator[Row]:
    start = file.tell()
    while line := file.readline(MOST_BYTES):
        if line.strip():
            yield Row(_line_value(line), start, len(line))
        start += len(line)


def _line_value(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return BROKEN


def _items(file: BinaryIO) -> Iterator[Row]:
    """Yield an array's items; where one cannot be read, it is broken, and whatever comes after it is not found."""
    window = _Window(file)
    while (letter := window.next_letter()) and letter != "]":
        start = window.at
        taken = window.take()
        if taken is None:
            yield Row(BROKEN, start, 0)
            return
        yield Row(taken[0], start, taken[1])
    if not letter:
        yield Row(BROKEN, window.at, 0)  # the array has no end: a download that was cut off


class _Window:
    """The part of a file that is in memory, as text; ``at`` is the byte of what comes next."""

    def __init__(self, file: BinaryIO) -> None:
        self.at = file.tell()
        self._text = ""
        self._next = 0
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._ended = False

    def next_letter(self) -> str:
        """Pass over commas and white space; return what comes then, or nothing at the end."""
        while True:
            found = _SEPARATORS.match(self._text, self._next)
            passed = found.end() if found else self._next
            self.at += passed - self._next  # separators are a byte each
            self._next = passed
            if passed < len(self._text):
                return self._text[passed]
            if not self._more(_PIECE_BYTES):
                return ""

    def take(self) -> tuple[Any, int] | None:
        """Return the next value and its length in bytes, and pass over it; None if there is no whole one."""
        piece = _PIECE_BYTES
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._next)
            except RecursionError:
                return None
            except ValueError:
                if len(self._text) - self._next > MOST_BYTES or not self._more(piece):
                    return None
                piece *= 2
                continue
            length = len(self._text[self._next : end].encode())
            self._next = end
            self.at += length
            return value, length

    def _more(self, size: int) -> bool:
        """Read on, and forget what was passed over; return whether there was more."""
        if self._ended:
            return False
        piece = self._file.read(size)
        self._ended = not piece
        self._text = self._text[self._next :] + self._decoder.decode(piece, final=self._ended)
        self._next = 0
        return not self._ended

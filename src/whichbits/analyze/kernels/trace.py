"""A profiler's trace, read event by event, so that one of many gigabytes needs a few megabytes of memory."""

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

_PIECE_BYTES = 1 << 20
_LONGEST_EVENT = 1 << 24
_LONGEST_HEAD = 1 << 24
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_GZIP_MARK = b"\x1f\x8b"
_decoder = json.JSONDecoder(strict=False)


class Trace:
    """A Chrome trace as torch's profiler writes it, packed with gzip or not.

    ``head`` holds what stands before the events and ``cut_off`` whether the end is missing; both are right only after
    the events have been read.
    """

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self.path = path
        self.head: dict[str, Any] = {}
        self.cut_off = False

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield each event. Raises OSError if the file cannot be opened."""
        with _opened(self.path) as file:
            pieces = self._pieces(file)
            text = self._to_the_events(pieces)
            if text is not None:
                yield from self._items(text, pieces)

    def _pieces(self, file: BinaryIO) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        while piece := self._piece(file):
            yield decoder.decode(piece)

    def _piece(self, file: BinaryIO) -> bytes:
        try:
            return file.read(_PIECE_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.cut_off = True
            return b""

    def _to_the_events(self, pieces: Iterator[str]) -> str | None:
        """Read the head; return what was read of the events behind it, None if there are none."""
        text = ""
        for piece in pieces:
            text += piece
            if found := _EVENTS.search(text):
                self.head = _head(text[: found.start()])
                return text[found.end() :]
            if len(text) > _LONGEST_HEAD:
                break
        self.cut_off = True
        return None

    def _items(self, text: str, pieces: Iterator[str]) -> Iterator[dict[str, Any]]:
        at = 0
        while True:
            at = cast("re.Match[str]", _BETWEEN.match(text, at)).end()
            if text.startswith("]", at):
                return
            try:
                event, at = _decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                piece = next(pieces, "") if len(text) - at < _LONGEST_EVENT else ""
                if not piece:
                    self.cut_off = True
                    return
                text, at = text[at:] + piece, 0
            else:
                if isinstance(event, dict):
                    yield event


def is_trace(path: Path) -> bool:
    """Tell by its first bytes whether a file is such a trace, whatever its name. Raises OSError."""
    with _opened(path) as file:
        try:
            start = file.read(_PIECE_BYTES).decode(errors="replace").lstrip("\ufeff \t\r\n")
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return False
    return start.startswith("{") and _EVENTS.search(start) is not None


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        packed = file.read(len(_GZIP_MARK)) == _GZIP_MARK
    return cast("BinaryIO", gzip.open(path, "rb") if packed else path.open("rb"))


def _head(text: str) -> dict[str, Any]:
    """Return the keys before the events; none if they are no JSON."""
    try:
        head = _decoder.decode(f"{text.rstrip().rstrip(',')}}}")
    except ValueError:
        return {}
    return head if isinstance(head, dict) else {}

"""The three standard streams, made so that nobody's leaving or closing them costs a measurement."""

import os
import sys
from pathlib import Path
from typing import IO, Any, cast

_STANDARD = (0, 1, 2)


def open_the_closed() -> None:
    """Give a standard descriptor that was closed to the null device.

    Otherwise the next file or socket takes its number, and libuv ends the process where it is to close that.
    """
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one


def unread(stream: IO[str] | None) -> IO[str]:
    """Return ``stream`` so that writing to it never fails: what nobody can read any more is dropped."""
    return Path(os.devnull).open("w", encoding="utf-8") if stream is None else cast("IO[str]", _Unread(stream))


class _Unread:
    """A text stream that goes over to the null device at the first failure: progress is not worth a run."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            drop(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            drop(self._stream)


def drop(stream: IO[str] | None = None) -> None:
    """Send all that is still written to ``stream``, stdout unless told otherwise, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, (stream or sys.stdout).fileno())
    os.close(null)

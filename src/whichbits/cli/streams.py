"""The three standard streams, made so that nobody's leaving or closing them costs a measurement."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO, cast

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


class StdoutRefused(OSError):  # noqa: N818 - the field's words read better than FooError
    """Stdout takes no more, which says nothing of the disk that runs are on."""


def watched(stream: IO[str] | None) -> IO[str] | None:
    """Return ``stream`` so that its own failures can be told from those of other files, but for a reader's leaving."""
    return None if stream is None else cast("IO[str]", _Watched(stream))


class _Watched:
    """A text stream, or the bytes below one, whose failures are StdoutRefused."""

    def __init__(self, stream: IO[Any]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def buffer(self) -> "_Watched":
        return _Watched(cast("TextIO", self._stream).buffer)

    def write(self, content: Any) -> int:
        with _naming_stdout():
            return self._stream.write(content)

    def flush(self) -> None:
        with _naming_stdout():
            self._stream.flush()


@contextmanager
def _naming_stdout() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutRefused(error.errno, error.strerror) from error


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

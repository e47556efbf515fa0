"""What one request left on the wire: stamps and raw bytes, read only after it is over."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from whichbits.drive.answer.failure import FailureCode

_KEPT_HEADERS = frozenset({b"location", b"retry-after", b"content-encoding"})


class Failure(NamedTuple):
    """Why a request did not end well: a code of ``failure.MEANINGS`` and the particulars."""

    code: FailureCode
    error: str


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its answer; times are absolute ``time.monotonic_ns()``.

    ``scheduled_ns`` is when it should have left; ``due_ns`` is when it could have: later than scheduled only
    if it waited for a slot under a cap. ``pieces[i]`` is body data that arrived in the read stamped
    ``stamps[i]``; a read yields one piece for each HTTP chunk, or part of a chunk, in it. ``headers`` are the few of
    the answer that a verdict needs, by name in small letters. ``secret`` is the API key that was sent: what the server
    says is kept without it. ``keeps_text`` asks for the answer's text, where the server does not count its tokens.
    """

    index: int
    replica: str | None
    requested_output_tokens: int
    scheduled_ns: int
    due_ns: int
    length_forced: bool = True
    keeps_text: bool = False
    secret: str | None = field(default=None, repr=False)
    connect_ns: int | None = None
    sent_ns: int | None = None
    first_byte_ns: int | None = None
    finished_ns: int | None = None
    status: int | None = None
    complete: bool = False
    failure: Failure | None = None
    stamps: list[int] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    body_bytes: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    def fail(self, code: FailureCode, error: str) -> None:
        """End the exchange, unless it has ended: the first cause is the one to report."""
        if self.finished_ns is None:
            self.failure = Failure(code, error)
            self.finished_ns = time.monotonic_ns()

    def note_header(self, name: bytes, value: bytes) -> None:
        """Keep a header of the answer if a verdict needs it."""
        if (small := name.lower()) in _KEPT_HEADERS:
            self.headers[small.decode()] = value.decode(errors="replace")

    def forget_body(self) -> None:
        """Give the memory of a decoded answer back."""
        self.stamps, self.pieces = [], []

    def finish(self, at_ns: int) -> None:
        """Mark the HTTP answer as whole; what it says is judged later."""
        if self.finished_ns is None:
            self.complete = True
            self.finished_ns = at_ns

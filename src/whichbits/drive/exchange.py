"""What one request left on the wire: stamps and raw bytes, read only after it is over."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from whichbits.drive.failure import FailureCode


class Failure(NamedTuple):
    """Why a request did not end well: a code of ``failure.MEANINGS`` and the particulars."""

    code: FailureCode
    error: str


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its answer; times are absolute ``time.monotonic_ns()``.

    ``scheduled_ns`` is when it should have left; ``due_ns`` is when it could have: later than scheduled only
    if it waited for a slot under a cap. ``pieces[i]`` is body data that arrived in the read stamped
    ``stamps[i]``; a read yields one piece for each HTTP chunk, or part of a chunk, in it.
    """

    index: int
    replica: str | None
    requested_output_tokens: int
    scheduled_ns: int
    due_ns: int
    length_forced: bool = True
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
    _forgotten: int = 0

    def fail(self, code: FailureCode, error: str) -> None:
        """End the exchange, unless it has ended: the first cause is the one to report."""
        if self.finished_ns is None:
            self.failure = Failure(code, error)
            self.finished_ns = time.monotonic_ns()

    def forget_body(self) -> None:
        """Give the memory of a decoded answer back."""
        self._forgotten = len(self.pieces)
        self.stamps, self.pieces = [], []

    def finish(self, at_ns: int) -> None:
        """Mark the HTTP answer as whole; what it says is judged later."""
        if self.finished_ns is None:
            self.complete = True
            self.finished_ns = at_ns

    @property
    def piece_count(self) -> int:
        """How many pieces arrived, forgotten ones included."""
        return len(self.pieces) + self._forgotten

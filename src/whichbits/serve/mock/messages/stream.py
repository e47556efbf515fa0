"""One answer under way: what is still to send, and the true time of every send."""

import time
from array import array
from typing import Literal, Protocol

from whichbits.serve.mock.messages.answers import Answer
from whichbits.serve.mock.messages.asked import Wire

Outcome = Literal["waiting", "running", "done", "cut", "error", "aborted"]
_NEVER = -1


class Wired(Protocol):
    """The connection of a stream."""

    def write(self, data: bytes) -> None:
        """Send now, or as soon as the client reads again; never raises."""
        ...

    def answered(self, stream: "Stream") -> None:
        """Learn that the stream has sent all that it has."""
        ...


class Stream:
    """A request from its arrival to its last send; ``position`` is the next tick. Times are monotonic nanoseconds."""

    __slots__ = (
        "_sends",
        "admitted_ns",
        "answer",
        "cached_tokens",
        "due_ns",
        "not_before_ns",
        "number",
        "outcome",
        "position",
        "prompt_head",
        "prompt_tokens",
        "received_ns",
        "request_id",
        "sent_ns",
        "stall_at",
        "stall_ns",
        "wired",
    )

    def __init__(self, wired: Wired, number: int, wire: Wire, prompt: list[int], answer: Answer) -> None:
        self.wired = wired
        self.number = number
        self.request_id = wire.headers.get("x-request-id")
        self.prompt_head = tuple(prompt[:4])
        self.prompt_tokens = len(prompt)
        self.cached_tokens = 0
        self.answer = answer
        self._sends = answer.sends
        self.position = 0
        self.outcome: Outcome = "waiting"
        self.received_ns = time.monotonic_ns()
        self.admitted_ns: int | None = None
        self.not_before_ns = 0
        self.stall_at, self.stall_ns = _NEVER, 0
        self.due_ns, self.sent_ns = array("q"), array("q")

    def tick(self, due_ns: int) -> bool:
        """Send what is due, stamped just before; return whether more will follow."""
        data = self._sends[self.position]
        self.position += 1
        if data:
            self.due_ns.append(due_ns)
            self.sent_ns.append(time.monotonic_ns())
            self.wired.write(data)
        if self.position == self.stall_at:
            self.not_before_ns = due_ns + self.stall_ns
        return self.position < len(self._sends)

    @property
    def over(self) -> bool:
        """Whether nothing more is to be sent, for whatever reason."""
        return self.outcome not in ("waiting", "running")

    @property
    def said_tokens(self) -> int:
        """Tokens sent so far."""
        return self.answer.said[self.position]

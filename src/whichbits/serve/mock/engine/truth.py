"""The truth: when every send of every request left, on the machine's monotonic clock."""

import time
from collections import deque
from typing import Any

import msgspec

from whichbits.serve.mock.messages.stream import Stream


class Truth:
    """The latest requests; what is told of them is JSON of the shape of ``TruthPage``."""

    def __init__(self, most: int) -> None:
        self._streams: deque[Stream] = deque(maxlen=most)

    def keep(self, stream: Stream) -> None:
        """Keep a request from its arrival on."""
        self._streams.append(stream)

    def empty(self) -> None:
        """Forget all requests."""
        self._streams.clear()

    def page(self) -> bytes:
        """Return everything as JSON."""
        requests = [_told(stream) for stream in self._streams]
        return msgspec.json.encode({"clock": "CLOCK_MONOTONIC", "cpu_ns": time.process_time_ns(), "requests": requests})


def _told(stream: Stream) -> dict[str, Any]:
    said = [each for data, each in zip(stream.answer.sends, stream.answer.tokens, strict=True) if data]
    return {
        "number": stream.number,
        "request_id": stream.request_id,
        "prompt_head": stream.prompt_head,
        "prompt_tokens": stream.prompt_tokens,
        "cached_tokens": stream.cached_tokens,
        "outcome": stream.outcome,
        "received_ns": stream.received_ns,
        "admitted_ns": stream.admitted_ns,
        "due_ns": stream.due_ns.tolist(),
        "sent_ns": stream.sent_ns.tolist(),
        "tokens": said[: len(stream.sent_ns)],
    }


class TrueRequest(msgspec.Struct, frozen=True):
    """One request as the mock knows it; ``tokens`` holds, for each send, those of each event in it."""

    number: int
    request_id: str | None
    prompt_head: tuple[int, ...]
    prompt_tokens: int
    cached_tokens: int
    outcome: str
    received_ns: int
    admitted_ns: int | None
    due_ns: list[int]
    sent_ns: list[int]
    tokens: list[list[int]]

    @property
    def chunk_ns(self) -> list[int]:
        """When each content event left: what a client would note if it took no time."""
        return [sent for sent, events in zip(self.sent_ns, self.tokens, strict=True) for _ in events]


class TruthPage(msgspec.Struct, frozen=True):
    """What /truth answers. ``cpu_ns`` is what the mock's process has used since its start."""

    clock: str
    cpu_ns: int
    requests: list[TrueRequest]


def read_truth(page: bytes) -> TruthPage:
    """Return a page of truth. Raises msgspec.DecodeError."""
    return msgspec.json.decode(page, type=TruthPage)

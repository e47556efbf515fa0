"""How a client under test is led: an order a line on stdin, what it measured as a line on stdout, until stdin ends.

It imports nothing beyond Python's own library, so that a client can live in any environment.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

INPUT_TOKENS = 3
"""The prompt of request n is the ids n, 1, 2: by the first of them the mock's truth is found."""


@dataclass(frozen=True)
class Order:
    """Requests to send at once or spread over ``ramp_s``, each with an answer of so many tokens."""

    url: str
    model: str
    streams: int
    tokens: int
    ramp_s: float

    def offset_s(self, index: int) -> float:
        """Return when a request is to leave, from the start."""
        return self.ramp_s * index / self.streams


@dataclass(frozen=True)
class Seen:
    """One request as the client shows it: seconds, from its own send on."""

    index: int
    ttft_s: float
    itl_s: list[float]


@dataclass(frozen=True)
class Result:
    """What a client measured, what its process used for it, and how it judges itself, if it does."""

    cpu_s: float
    seen: list[Seen]
    verdict: str | None = None
    reasons: list[str] = field(default_factory=list)


def prompt(index: int) -> list[int]:
    return [index, 1, 2]


def body(order: Order, index: int) -> dict[str, Any]:
    """Return the usual request of a benchmark."""
    return {
        "model": order.model,
        "prompt": prompt(index),
        "max_tokens": order.tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def serve(carry_out: Callable[[Order], Result]) -> None:
    """Carry out orders until nobody gives any."""
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(carry_out(Order(**json.loads(line))))), flush=True)


def at_offsets(order: Order, ask: Callable[[int], Awaitable[Seen | None]]) -> Callable[[], Awaitable[list[Seen]]]:
    """Return a coroutine function that calls ``ask`` for each request at its time and collects what succeeded."""

    async def one(index: int, start_s: float) -> Seen | None:
        await asyncio.sleep(start_s + order.offset_s(index) - time.perf_counter())
        return await ask(index)

    async def every() -> list[Seen]:
        start_s = time.perf_counter() + 0.05
        found = await asyncio.gather(*(one(index, start_s) for index in range(order.streams)))
        return [each for each in found if each is not None]

    return every


def timed(measure: Callable[[], Awaitable[list[Seen]]]) -> Result:
    """Run a client in an event loop of its own, and charge it with all CPU that this process takes meanwhile."""
    began_s = time.process_time()
    seen = asyncio.run(_awaited(measure))
    return Result(time.process_time() - began_s, seen)


async def _awaited(measure: Callable[[], Awaitable[list[Seen]]]) -> list[Seen]:
    return await measure()


class Reading:
    """Times between the events of one answer that carry a choice, as a plain reader takes them."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._sent_s = self._last_s = time.perf_counter()
        self._ttft_s: float | None = None
        self._itl_s: list[float] = []

    def line(self, line: str | bytes) -> None:
        """Take a line that has just arrived."""
        data = line[5:].strip() if line[:5] in ("data:", b"data:") else None
        if not data or data in ("[DONE]", b"[DONE]") or not json.loads(data)["choices"]:
            return
        now_s = time.perf_counter()
        if self._ttft_s is None:
            self._ttft_s = now_s - self._sent_s
        else:
            self._itl_s.append(now_s - self._last_s)
        self._last_s = now_s

    def seen(self) -> Seen | None:
        return None if self._ttft_s is None else Seen(self._index, self._ttft_s, self._itl_s)

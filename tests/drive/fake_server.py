"""A small server for the driver's tests: it answers as a script says and remembers what it saw."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from whichbits.drive.target import Target

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"
LAST_CHUNK = b"0\r\n\r\n"
_TURNS_TO_BEGIN = 20  # asyncio takes five

Answer = Callable[["Received", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Received:
    """One request as the server read it."""

    head: str
    body: dict[str, Any]
    at_ns: int

    @property
    def output_tokens(self) -> int:
        return int(self.body["max_tokens"])


@dataclass
class FakeServer:
    """What the server saw, for assertions."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0
    in_flight: int = 0
    peak: int = 0
    server: asyncio.Server | None = None
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def target(self) -> Target:
        return Target("127.0.0.1", self.port, "tiny")

    def die(self) -> None:
        """End as a killed process does: every connection is reset, new ones are refused."""
        assert self.server is not None
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()


@asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeServer]:
    """Serve ``answer`` on a loopback port. A writer that the answer closed ends the connection."""
    fake = FakeServer()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fake.connections += 1
        fake.open_connections += 1
        fake.writers.add(writer)
        try:
            while not writer.is_closing():
                await _one_request(fake, answer, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            fake.open_connections -= 1
            fake.writers.discard(writer)
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, backlog=512, ssl=tls)
    fake.server = server
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        await all_begun()
        server.close()
        await server.wait_closed()
        await eventually(lambda: fake.open_connections == 0)


async def all_begun() -> None:
    """Let connections that have come to the door come to their handler: a server that closes forgets them unclosed."""
    for _ in range(_TURNS_TO_BEGIN):
        await asyncio.sleep(0)


async def _one_request(
    fake: FakeServer, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(line for line in head.split("\r\n") if line.lower().startswith("content-length"))
    body = await reader.readexactly(int(length.partition(":")[2]))
    request = Received(head, msgspec.json.decode(body), time.monotonic_ns())
    fake.received.append(request)
    fake.in_flight += 1
    fake.peak = max(fake.peak, fake.in_flight)
    answering = asyncio.ensure_future(answer(request, writer))
    gone = asyncio.ensure_future(eventually(reader.at_eof))
    try:
        await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ConnectionResetError
        await answering
    finally:
        fake.in_flight -= 1
        answering.cancel()
        gone.cancel()
        await asyncio.gather(answering, gone, return_exceptions=True)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until ``condition`` holds."""
    while not condition():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0.002)


def chunk(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(text: str | None = "x", *, finish: str | None = None, usage: int | None = None) -> bytes:
    """One completions event; ``usage`` is the cumulative count of completion tokens."""
    counts = None if usage is None else {"prompt_tokens": 3, "completion_tokens": usage}
    choices = [] if text is None else [{"index": 0, "text": text, "finish_reason": finish}]
    return b"data: " + msgspec.json.encode({"choices": choices, "usage": counts}) + b"\n\n"


def stream(*, first_s: float = 0.0, gap_s: float = 0.0, tokens_per_chunk: Sequence[int] | None = None) -> Answer:
    """Answer as asked: chunks with continuous usage, the final usage, [DONE]."""

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await asyncio.sleep(first_s)
        so_far, sizes = 0, tokens_per_chunk or [1] * request.output_tokens
        for position, tokens in enumerate(sizes):
            so_far += tokens
            finish = "length" if position == len(sizes) - 1 else None
            writer.write(chunk(event("x" * tokens, finish=finish, usage=so_far)))
            await asyncio.sleep(gap_s)
        writer.write(chunk(event(None, usage=so_far)) + chunk(DONE) + LAST_CHUNK)

    return answer


def together(count: int, answer: Answer) -> Answer:
    """Answer nobody before so many requests are here, then as ``answer`` does; the wait does not depend on speed."""
    here: list[Received] = []
    all_here = asyncio.Event()

    async def held(request: Received, writer: asyncio.StreamWriter) -> None:
        here.append(request)
        if len(here) == count:
            all_here.set()
        await all_here.wait()
        await answer(request, writer)

    return held


def raw(*parts: bytes, close: bool = False) -> Answer:
    """Answer with exactly these writes, then close or keep the connection."""

    async def answer(_request: Received, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        if close:
            writer.close()

    return answer


async def silence(_request: Received, _writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.sleep(3600)

"""A small HTTP proxy for tests: it tunnels CONNECT, forwards absolute addresses, and remembers what it was asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.drive.fake_server import all_begun


@dataclass
class FakeProxy:
    """What the proxy saw: the first line of each request, and whole heads."""

    url: str = ""
    lines: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)


@asynccontextmanager
async def proxying(*, refuse: bytes | None = None) -> AsyncIterator[FakeProxy]:
    """Serve as a proxy; one that is to ``refuse`` answers every request with that status line."""
    proxy = FakeProxy()
    open_ones: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_ones.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await _serve(proxy, refuse, reader, writer)
        finally:
            open_ones.discard(task)
            await _closed(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        await all_begun()
        server.close()
        for task in tuple(open_ones):
            task.cancel()
        await asyncio.gather(*tuple(open_ones), return_exceptions=True)
        await server.wait_closed()


async def _serve(
    proxy: FakeProxy, refuse: bytes | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    line, _, rest = head.decode().partition("\r\n")
    proxy.lines.append(line)
    proxy.heads.append(head.decode())
    if refuse is not None:
        writer.write(b"HTTP/1.1 " + refuse + b"\r\nContent-Length: 0\r\n\r\n")
        return
    method, address, _ = line.split(" ")
    if method == "CONNECT":
        host, _, port = address.rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    else:
        where = urlsplit(address)
        there, back = await asyncio.open_connection(where.hostname, where.port)
        back.write(f"{method} {where.path} HTTP/1.1\r\n{rest}".encode())
    try:
        await asyncio.gather(_pour(reader, back), _pour(there, writer))
    finally:
        await _closed(back)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def _pour(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        sink.write(data)
    sink.close()

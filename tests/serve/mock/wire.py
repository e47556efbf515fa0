"""A mock in a thread of this process, and the plainest client there is: a socket whose reads are stamped."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from whichbits.serve.mock.engine.desk import Desk
from whichbits.serve.mock.engine.truth import TrueRequest, read_truth
from whichbits.serve.mock.http.server import MockServer, listen
from whichbits.serve.mock.settings import MockSettings

PATIENCE_SECONDS = 60


@contextmanager
def mock(**options: Any) -> Iterator["Mock"]:
    """Serve a mock, quick unless told otherwise; it has ended when this returns."""
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = MockServer(listener, Desk(MockSettings(**{"ttft_ms": 4, "itl_ms": 2} | options)))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Mock(port)
    finally:
        server.stop()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


@dataclass
class Reply:
    """What came back: each read and its time."""

    reads: list[tuple[int, bytes]] = field(default_factory=list)
    reset: bool = False

    @property
    def raw(self) -> bytes:
        return b"".join(data for _, data in self.reads)

    @property
    def head(self) -> str:
        return self.raw.partition(b"\r\n\r\n")[0].decode()

    @property
    def status(self) -> int:
        return int(self.head.split(" ")[1])

    @property
    def body(self) -> bytes:
        """The body, its chunks put together."""
        rest = self.raw.partition(b"\r\n\r\n")[2]
        if "Transfer-Encoding" not in self.head:
            return rest
        body = b""
        while (size := rest.partition(b"\r\n")[0]) and int(size, 16):
            start = len(size) + 2
            body += rest[start : start + int(size, 16)]
            rest = rest[start + int(size, 16) + 2 :]
        return body

    @property
    def events(self) -> list[str]:
        """The data of each event, in order."""
        return [found[1] for found in re.finditer(r"^data: ?(.*?)\r?$", self.body.decode(), re.MULTILINE)]

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The events that are JSON."""
        return [json.loads(event) for event in self.events if event != "[DONE]"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Mock:
    port: int

    def connect(self) -> socket.socket:
        wire = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return wire

    def ask(self, path: str, body: Any = None, *, method: str | None = None, headers: str = "") -> Reply:
        with self.connect() as wire:
            wire.sendall(request(path, body, method=method, headers=headers + "Connection: close\r\n"))
            return read_all(wire)

    def complete(self, tokens: int = 3, prompt: Any = (1, 2, 3), **more: Any) -> Reply:
        return self.ask("/v1/completions", {"prompt": prompt, "max_tokens": tokens, "stream": True, **more})

    def chat(self, tokens: int = 3, **more: Any) -> Reply:
        messages = [{"role": "user", "content": "one two"}]
        return self.ask("/v1/chat/completions", {"messages": messages, "max_tokens": tokens, "stream": True, **more})

    def together(self, count: int, tokens: int) -> None:
        """Complete several requests at once."""
        threads = [threading.Thread(target=self.complete, args=(tokens, (index, 1))) for index in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)

    def truth(self) -> list[TrueRequest]:
        return read_truth(self.ask("/truth").body).requests

    def metric(self, name: str) -> float:
        found = re.search(rf"^{name}(?:\{{.*\}})? (\S+)$", self.ask("/metrics").body.decode(), re.MULTILINE)
        assert found is not None, name
        return float(found[1])


def request(path: str, body: Any = None, *, method: str | None = None, headers: str = "") -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    line = f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1\r\nHost: mock\r\n{headers}"
    return f"{line}Content-Length: {len(content)}\r\n\r\n".encode() + content


def read_all(wire: socket.socket) -> Reply:
    reply = Reply()
    try:
        while data := wire.recv(65_536):
            reply.reads.append((time.monotonic_ns(), data))
    except ConnectionResetError:
        reply.reset = True
    return reply

"""A real server process of the embedded engine on a free loopback port, and a client that reads what it sends."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from prometheus_client.parser import text_string_to_metric_families

READY_SECONDS = 300


@dataclass(frozen=True)
class RunningServer:
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def get(self, path: str) -> bytes:
        with urlopen(self.url + path) as answer:  # noqa: S310 - our own loopback server
            body: bytes = answer.read()
            return body

    def post(self, path: str, **body: Any) -> tuple[int, Any]:
        request = Request(self.url + path, json.dumps(body).encode())  # noqa: S310 - our own loopback server
        try:
            with urlopen(request) as answer:  # noqa: S310 - as above
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def complete(self, prompt: str | list[int], **body: Any) -> Any:
        status, answer = self.post("/v1/completions", prompt=prompt, return_token_ids=True, **body)
        assert status == 200, answer
        return answer

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        families = text_string_to_metric_families(self.get("/metrics").decode())
        samples = [sample for family in families for sample in family.samples if sample.name == f"embedded:{name}"]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


@contextmanager
def serving(model: Path, log: Path, *flags: str) -> Iterator[RunningServer]:
    """Start a server, wait until it is ready, and end it."""
    port = free_port()
    command = [sys.executable, "-m", "whichbits.serve.embedded", "--model", str(model), "--port", str(port), *flags]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        server = RunningServer(f"http://127.0.0.1:{port}", process, log)
        try:
            _wait_until_ready(server)
            yield server
        finally:
            process.terminate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_until_ready(server: RunningServer) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not _healthy(server):
        assert server.process.poll() is None, server.log.read_text()
        assert time.monotonic() < deadline, server.log.read_text()
        time.sleep(0.05)


def _healthy(server: RunningServer) -> bool:
    try:
        return server.get("/health") == b""
    except (URLError, ConnectionError):
        return False

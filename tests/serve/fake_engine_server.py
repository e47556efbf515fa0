"""A server that answers control requests as an engine does: JSON by path, everything else 404."""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


@dataclass(frozen=True)
class Redirect:
    """An answer that sends the client elsewhere."""

    to: str


@contextmanager
def answering(
    answers: Mapping[str, Any], key: str | None = None, certificate: Path | None = None
) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve ``answers`` (text as it is, the rest as JSON); yield the address and the headers of each request.

    With a ``key``, whoever does not bring it is refused.
    """
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(dict(self.headers))
            # What is left unread when the connection closes resets it, and the answer may be lost.
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = answers.get(self.path)
            if isinstance(answer, Redirect):
                self.send_response(308)
                self.send_header("Location", answer.to)
                self.end_headers()
                return
            refused = key is not None and self.headers.get("Authorization") != f"Bearer {key}"
            self.send_response(401 if refused else 404 if answer is None else 200)
            self.end_headers()
            self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

        do_POST = do_GET  # noqa: N815 - http.server's name

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

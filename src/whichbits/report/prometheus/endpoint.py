"""The address at which Prometheus scrapes a study: one small server in threads, beside the loop that leads."""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from socket import AF_INET, AF_INET6, SHUT_RDWR, AddressFamily, socket
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

from whichbits.errors import BadInput
from whichbits.hardware.loopback import insist_on_host, is_loopback
from whichbits.report.prometheus.family import CONTENT_TYPE

_OURS = frozenset({"localhost", "127.0.0.1", "::1"})
_POLL_S = 0.05
_PATIENCE_S = 5.0
_MOST_CLIENTS = 16


@contextmanager
def endpoint(host: str, port: int, text: Callable[[], str]) -> Iterator[str]:
    """Serve ``text()`` at /metrics while the block runs; yield the address. Port 0 takes a free one.

    On a loopback address only requests that name this machine are answered: a web page elsewhere can make a browser
    send requests here under a name of its own. Metrics are made for one request at a time, so that scrapers cannot
    crowd out the study; clients that say nothing hold up nobody.

    Raises:
        BadInput: ``metrics_no_port``, or ``host_empty``.
    """
    server = _bound(insist_on_host(host, "--metrics-host"), port, text)
    thread = Thread(target=server.serve_forever, args=(_POLL_S,), name="metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{server.server_address[1]}/metrics"
    finally:
        server.hang_up()
        server.shutdown()
        server.server_close()
        thread.join()


def _bound(host: str, port: int, text: Callable[[], str]) -> "_Server":
    kind = type("_Server", (_Server,), {"address_family": AF_INET6 if ":" in host else AF_INET})
    try:
        server: _Server = kind((host, port), _handler(text, only_us=_OURS | {host} if is_loopback(host) else None))
    except (OSError, OverflowError, UnicodeError) as error:
        raise BadInput(
            "metrics_no_port",
            f"metrics cannot be served at {host}:{port}: {getattr(error, 'strerror', None) or error}",
            why="another program has the port, or the address is not this machine's",
            fix="name another with --metrics-port, or 0 for a free one",
        ) from error
    return server


class _Server(ThreadingMixIn, HTTPServer):
    address_family: AddressFamily = AF_INET
    daemon_threads = True
    block_on_close = False
    _ending = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        """Listen at ``address``."""
        self._asking: dict[socket, None] = {}
        self._lock = Lock()
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Take the port; HTTPServer would also ask for this machine's full name, which can take seconds."""
        TCPServer.server_bind(self)
        name, self.server_port = self.server_address[:2]
        self.server_name = str(name)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer, unless the end has come; where too many are asking, who began first has had time enough."""
        with self._lock:
            welcome = not self._ending
            if welcome:
                for longest in list(self._asking)[: 1 - _MOST_CLIENTS]:
                    _hang_up(longest)
                    del self._asking[longest]
                self._asking[request] = None
        if welcome:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that is over."""
        with self._lock:
            self._asking.pop(request, None)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Let go of whoever is asking: a study does not wait at its end for a client that takes its time."""
        with self._lock:
            self._ending = True
            for asking in self._asking:
                _hang_up(asking)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that left in the middle: stderr is the study's."""


def _hang_up(asking: socket) -> None:
    with suppress(OSError):  # it has its answer and is gone
        asking.shutdown(SHUT_RDWR)


def _hostname(named: str) -> str:
    try:
        return urlsplit(f"//{named}").hostname or ""
    except ValueError:  # such as "[": whoever writes so does not mean us
        return ""


def _told(text: Callable[[], str]) -> tuple[HTTPStatus, str]:
    """Return the metrics; what keeps them from being told is told to who asks, and leaves the study alone."""
    try:
        return HTTPStatus.OK, text()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return HTTPStatus.INTERNAL_SERVER_ERROR, f"The metrics cannot be told now: {type(error).__name__}: {error}\n"


def _handler(text: Callable[[], str], *, only_us: AbstractSet[str] | None) -> type[BaseHTTPRequestHandler]:
    one_at_a_time = Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_S

        def do_GET(self) -> None:
            if only_us is not None and _hostname(self.headers.get("Host", "")) not in only_us:
                self._answer(HTTPStatus.FORBIDDEN, "These metrics are for this machine: ask http://127.0.0.1.\n")
            elif self.path.partition("?")[0] != "/metrics":
                self._answer(HTTPStatus.NOT_FOUND, "Metrics are at /metrics.\n")
            else:
                with one_at_a_time:
                    told = _told(text)
                self._answer(*told)

        def _answer(self, status: HTTPStatus, content: str) -> None:
            body = content.encode()
            self.send_response(status)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: stderr is the study's."""

    return Handler

"""One connection of the loop: a socket that never blocks, and the kernel's stamp with each read."""

import os
import select
import socket
import ssl
from collections.abc import Callable, Iterator
from errno import EINPROGRESS
from typing import Any, NamedTuple

from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.http.framing import Framing
from whichbits.drive.target import Target

READ_BYTES = 65536
CONTROL_BYTES = 64

READABLE, WRITABLE = select.EPOLLIN, select.EPOLLOUT

# Linux's number where Python does not know the name: a struct timespec of wall-clock time with each read.
_SO_TIMESTAMPNS = getattr(socket, "SO_TIMESTAMPNS", 35)
_CLOSED_BY_PEER = select.POLLRDHUP | select.POLLHUP | select.POLLERR
_TLS_READ_BYTES = 2**20

Read = tuple[bytes, list[tuple[int, int, bytes]], int, Any]


class Address(NamedTuple):
    """Where ``connect`` leads; from getaddrinfo."""

    family: int
    sockaddr: Any


class Wire:
    """A connection that carries one exchange at a time; before it is open it may hold one that waits for it.

    ``pending`` are reads that have not been looked into: bytes, stamp, and how long they may have lain unread. They
    are plain tuples, since there is one for nearly every token.
    """

    __slots__ = (
        "_addresses",
        "_poll",
        "_sock",
        "_tls",
        "began_ns",
        "exchange",
        "fd",
        "framing",
        "has_served",
        "heard_ns",
        "is_closed",
        "is_open",
        "is_reading",
        "lane",
        "number",
        "pending",
        "receive",
        "target",
        "unsent",
        "watched_ns",
    )

    def __init__(
        self, number: int, lane: int, target: Target, addresses: Iterator[Address], tls: ssl.SSLContext | None
    ) -> None:
        self.number = number
        self.lane = lane
        self.target = target
        self._addresses = addresses
        self._tls = tls
        self._sock: socket.socket | None = None
        self.fd = -1
        self.is_open = self.is_closed = False
        self.is_reading = False
        self.watched_ns: int | None = None
        self.has_served = False
        self.exchange: Exchange | None = None
        self.framing = Framing()
        self.pending: list[tuple[bytes, int, int]] = []
        self.unsent: memoryview | None = None
        self.began_ns = 0
        self.heard_ns = 0
        self.receive: Callable[[int, int], Read] = _nothing

    def dial(self) -> None:
        """Begin to connect to the next address.

        Raises:
            OSError: that address cannot be reached. StopIteration: there is none left.
        """
        address = next(self._addresses)
        sock = socket.socket(address.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._hold(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        code = sock.connect_ex(address.sockaddr)
        if code not in (0, EINPROGRESS):
            raise _refusal(code, address.sockaddr)

    def advance(self) -> int:
        """Take the opening a step further; return what epoll shall wait for, 0 once it is open.

        Raises:
            OSError: it failed.
        """
        sock = self._socket
        if isinstance(sock, ssl.SSLSocket):
            return self._shake_hands(sock)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise _refusal(code, (self.target.host, self.target.port))
        if not _is_connected(sock):
            return WRITABLE  # the event was meant for a closed socket that had this number before
        if self._tls is None:
            self.is_open = True
            return 0
        wrapped = self._tls.wrap_socket(sock, server_hostname=self.target.host, do_handshake_on_connect=False)
        self._sock, self.receive = wrapped, self._receive_tls
        return self._shake_hands(wrapped)

    @property
    def usable(self) -> bool:
        """Whether a request may be sent; asks the kernel, since the loop may not have seen a close yet."""
        return not self.is_closed and self.framing.reusable and not self._poll.poll(0)

    def send(self, data: bytes | memoryview) -> None:
        """Send what the kernel takes, and keep the rest in ``unsent``.

        Raises:
            OSError: the connection is gone.
        """
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                break
        self.unsent = view or None

    def begin(self, exchange: Exchange) -> None:
        """Carry ``exchange``, which is to be sent at once."""
        self.exchange = exchange
        self.is_reading = self.has_served = True
        self.framing.begin(exchange)

    def close(self) -> None:
        """Close at once, whatever is in flight."""
        self.is_open = self.is_reading = False
        self.is_closed = True
        self.framing.close()
        self.shut()

    def shut(self) -> None:
        """Close the socket of an address that failed; another may be dialled."""
        if self._sock is not None:
            self._sock.close()
            self._sock, self.fd = None, -1
            self.receive = _nothing  # with TLS it was a method of this object, and the collector is off during a cell

    @property
    def _socket(self) -> socket.socket:
        if self._sock is None:
            raise ConnectionError("the connection is closed")
        return self._sock

    def _hold(self, sock: socket.socket) -> None:
        self._sock, self.fd = sock, sock.fileno()
        self.receive = sock.recvmsg
        self._poll = select.poll()
        self._poll.register(self.fd, _CLOSED_BY_PEER)

    def _shake_hands(self, sock: ssl.SSLSocket) -> int:
        try:
            sock.do_handshake()
        except ssl.SSLWantReadError:
            return READABLE
        except ssl.SSLWantWriteError:
            return WRITABLE
        self.is_open = True
        return 0

    def _receive_tls(self, _size: int, _control: int) -> Read:
        """Read all that TLS has: what lies in its own buffer would not wake epoll."""
        sock, parts, size = self._socket, [], 0
        assert isinstance(sock, ssl.SSLSocket)  # noqa: S101 - advance has wrapped it
        try:
            while size < _TLS_READ_BYTES or sock.pending():
                part = sock.recv(READ_BYTES)
                if not part:
                    break
                parts.append(part)
                size += len(part)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if not parts:
                raise BlockingIOError from None
        return b"".join(parts), [], 0, None


def _nothing(_size: int, _control: int) -> Read:
    raise BlockingIOError


def _is_connected(sock: socket.socket) -> bool:
    try:
        sock.getpeername()
    except OSError:
        return False
    return True


def _refusal(code: int, sockaddr: Any) -> OSError:
    return OSError(code, f"{os.strerror(code)} ({sockaddr[0]}:{sockaddr[1]})")

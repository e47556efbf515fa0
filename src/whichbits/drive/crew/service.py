"""A worker: drives the parts it is ordered to, until its lead is gone.

``serve`` needs a channel and nothing else, so a process, a thread or an actor on another machine can host it.
``python -m whichbits.drive.crew.service DESCRIPTOR`` serves the socket that it inherits.
"""

import io
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol

from whichbits.drive.crew.orders import (
    AskClock,
    Channel,
    Destination,
    Done,
    Failed,
    Order,
    Refused,
    Start,
    Stop,
    Told,
    Warm,
    Written,
)
from whichbits.drive.crew.tally import Tally
from whichbits.drive.fallback.part import drive_part_by_aiohttp, needs_fallback
from whichbits.drive.sending.worker import drive_part
from whichbits.errors import WhichbitsError
from whichbits.record.parts import PartWriter
from whichbits.record.schema import RequestRecord

GONE = (EOFError, OSError)
"""What a channel raises when the other side has gone."""


def serve(channel: Channel) -> None:
    """Take orders until the lead hangs up; an error of ours is told, and ends the service."""
    with suppress(*GONE):
        while True:
            message = channel.recv()
            if isinstance(message, AskClock):
                channel.send(time.monotonic_ns())
            if isinstance(message, Order):
                try:
                    channel.send(_done(message, channel))
                except LeadGone:
                    return
                except WhichbitsError as refusal:
                    channel.send(Refused(type(refusal), refusal.code, refusal.what, refusal.why, refusal.fix))
                except Exception as error:  # noqa: BLE001 - whatever it is, the lead must not wait for ever
                    channel.send(Failed(f"{type(error).__name__}: {error}"))
                    return


class LeadGone(Exception):  # noqa: N818 - an event, not an error
    """Nobody waits for the part any more; what has ended lies on disk."""


def _done(order: Order, channel: Channel) -> Done:
    with ExitStack() as files:
        keeper, kept = _keeper(order.destination, channel, files)
        lead = _Lead(channel, keeper)
        part = order.part()
        report = (drive_part_by_aiohttp if needs_fallback(part.targets) else drive_part)(part, lead)
    return Done(report, lead.tally, kept)


class Keeper(Protocol):
    """Takes requests that have ended."""

    def __call__(self, records: Sequence[RequestRecord], /) -> None: ...


def _keeper(destination: Destination, channel: Channel, files: ExitStack) -> tuple[Keeper, list[RequestRecord]]:
    kept: list[RequestRecord] = []
    if destination == "memory":
        return kept.extend, kept
    if destination == "nowhere":
        return lambda _records: None, kept
    if destination == "lead":
        return files.enter_context(PartWriter(_FileAtLead(channel))).keep, kept
    return files.enter_context(PartWriter(destination)).keep, kept


class _FileAtLead(io.RawIOBase):
    """A file that the lead writes: what is flushed goes out as one message."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._waiting += data
        return len(data)

    def flush(self) -> None:
        if not self._waiting:
            return
        data, self._waiting = bytes(self._waiting), bytearray()
        try:
            self._channel.send(Written(data))
        except GONE as gone:
            raise LeadGone from gone


class _Lead:
    """The lead as the loop sees it, at the other end of a channel."""

    def __init__(self, channel: Channel, keeper: Keeper) -> None:
        self._channel = channel
        self._keep = keeper
        self._is_to_stop = False
        self._poll = select.poll()
        self._poll.register(channel.fileno(), select.POLLIN)
        self.tally = Tally()

    def start(self) -> int | None:
        self._send(Warm())
        while not self._is_to_stop:
            message = self._next()
            if isinstance(message, Start):
                return message.at_ns
            self._is_to_stop = isinstance(message, Stop)
        return None

    def stopped(self) -> bool:
        while not self._is_to_stop and self._poll.poll(0):
            self._is_to_stop = isinstance(self._next(), Stop)
        return self._is_to_stop

    def told(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        self._send(Told(sent, finished, failed, chunks))

    def keep(self, records: Sequence[RequestRecord]) -> None:
        self.tally.add(records)
        self._keep(records)

    def _next(self) -> Any:
        try:
            return self._channel.recv()
        except GONE as gone:
            raise LeadGone from gone

    def _send(self, message: Any) -> None:
        try:
            self._channel.send(message)
        except GONE as gone:
            raise LeadGone from gone


def main() -> None:
    """Serve an inherited socket. The lead alone decides when to end: signals to the whole group are not for us."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))


if __name__ == "__main__":
    main()

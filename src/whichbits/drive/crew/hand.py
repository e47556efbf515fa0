"""One worker in one cell, as the lead sees it: what it is told, what it said, and how its part ended."""

import time
from contextlib import suppress
from dataclasses import replace
from io import BufferedWriter
from pathlib import Path
from typing import Any

from whichbits.drive.crew.clock import OUR_CLOCK, ClockReading, read_clock
from whichbits.drive.crew.hire import Hired
from whichbits.drive.crew.orders import Done, Failed, Order, Refused, Told, Warm, Written
from whichbits.drive.crew.service import GONE
from whichbits.record.parts import begun


class Hand:
    """One worker in one cell. ``done`` stays None if it ``refused``, or was ``lost``, which says how.

    ``order`` is in the lead's terms: its clock, its files. ``clocks`` are readings from before and after the part,
    none of a worker that has our clock.
    """

    def __init__(self, worker: Hired, order: Order) -> None:
        self.worker = worker
        self.order = order
        self.clocks: list[ClockReading] = []
        self._file: BufferedWriter | None = None
        self.is_warm = False
        self.told = Told()
        self.done: Done | None = None
        self.refused: Refused | None = None
        self.lost: str | None = None
        self.heard_ns = time.monotonic_ns()

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be heard of the part."""
        return self.done is not None or self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether the part ended otherwise than in order."""
        return self.refused is not None or self.lost is not None

    @property
    def clock(self) -> ClockReading:
        """The worker's clock as the part began."""
        return self.clocks[0] if self.clocks else OUR_CLOCK

    def read_clock(self) -> None:
        """Compare the worker's clock with ours, if it has one of its own; it must have no part in work."""
        if self.worker.machine is None or self.lost is not None:
            return
        try:
            self.clocks.append(read_clock(self.worker.channel))
        except GONE:
            self._lose()

    def begin(self) -> None:
        """Give the order, in the worker's terms."""
        order = replace(self.order, clock_origin_ns=self.order.clock_origin_ns + self.clock.offset_ns)
        if self.worker.machine is not None and isinstance(order.destination, Path):
            self._file = begun(order.destination)
            order = replace(order, destination="lead")
        self.say(order)

    def end(self) -> None:
        """Close what was open for the part."""
        if self._file is not None:
            with suppress(OSError):  # all was flushed; what could not be has been told
                self._file.close()

    def hear(self) -> None:
        """Take the message that has arrived."""
        self.heard_ns = time.monotonic_ns()
        try:
            message = self.worker.channel.recv()
        except GONE:
            self._lose()
            return
        match message:
            case Warm():
                self.is_warm = True
            case Told():
                self.told = message
            case Written(data):
                self._write(data)
            case Done():
                self.done = message
            case Refused():
                self.refused = message
            case Failed(error):
                self.lost = f"{self.worker.name} failed: {error}"

    def say(self, message: Any) -> None:
        """Tell the worker, if it still listens; that it does not is heard soon enough."""
        if not self.is_over:
            try:
                self.worker.channel.send(message)
            except GONE:
                return

    def _lose(self) -> None:
        self.lost = f"{self.worker.name} {self.worker.fate() or 'hung up'}"

    def _write(self, data: bytes) -> None:
        """Write for a worker that cannot; to leave the disk's trouble in the loop would leave the cell waiting."""
        if self._file is None:
            return
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            self.lost = f"the part of {self.worker.name} cannot be written: {error.strerror}"

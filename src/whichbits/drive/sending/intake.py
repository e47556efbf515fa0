"""What arrives: reads are stamped and put by, and looked into when nothing else is to be done.

A read costs a system call, a stamp and an append. The stamp is the kernel's, of when the bytes arrived, so it does not
matter to it how late they are read.
"""

import select
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Protocol

from whichbits.drive.http.kernel_clock import STEP_NS, KernelClock
from whichbits.drive.http.wire import CONTROL_BYTES, READ_BYTES, READABLE, Wire
from whichbits.drive.sending.samples import Samples

SLICE_NS = 200_000
"""How long decoding goes on before the sockets are looked at again."""
BACKLOG_BYTES = 8 * 2**20
"""Raw bytes that may wait for idle time; beyond it decoding goes on although reads are waiting."""
NEVER_NS = sys.maxsize
"""A moment that does not come."""

_NS = 1_000_000_000
# epoll counts whole milliseconds, so the last one is waited for by select, and the last moment is not slept through.
_COARSE_NS, _MARGIN_NS, _SPIN_NS = 1_500_000, 500_000, 60_000
_MOST_SELECTABLE = 1023
# Reads nearer to each other than this are read in batches, after naps: shorter than any gap that matters.
_CROWDED_NS, _NAP_NS, _LOOK_NS = 400_000, 500_000, 5_000_000
_READS_PER_SAMPLE = 8
_MOST_UNSTAMPED = 0.01  # of the reads, where the kernel is said to stamp: a socket's first may come before it does
_END_OF_CHUNKS = b"\r\n\r\n"
_SHORTEST_INNER_READ = 5  # a shorter one may hold but the end of the last chunk
_timespec = Struct("qq")


class Keeper(Protocol):
    """Who keeps the exchanges that the reads belong to."""

    def prepare(self, wire: Wire, mask: int) -> bool:
        """Do what an event asks for besides a read; return whether there may be something to read for a request."""
        ...

    def decode(self, wire: Wire) -> None:
        """Look into all that was put by of a wire, less the intake's backlog, and end its exchange if that is over."""
        ...

    def broken(self, wire: Wire, error: OSError) -> None:
        """Learn that a read failed."""
        ...

    def hung_up(self, wire: Wire) -> None:
        """Learn that the server closed in order."""
        ...

    def send_due(self, now_ns: int) -> None:
        """Send what is due by now."""
        ...


class Intake:
    """Waits for what arrives and reads it; ``due_ns`` is when the keeper has something to send."""

    def __init__(self, epoll: select.epoll, wires: Mapping[int, Wire], keeper: Keeper) -> None:
        """``wires`` are those registered with ``epoll``, by file number."""
        self._epoll = epoll
        self._wires = wires
        self._keeper = keeper
        self.due_ns = NEVER_NS
        self.clock = KernelClock()
        self.read_lags = Samples()
        self._polled_ns = 0
        self._behind: deque[Wire] = deque()
        self.backlog_bytes = 0
        self._reads = self._unstamped = 0
        self._seen = 0, 0
        self._crowded = False

    @property
    def kernel_stamps(self) -> bool:
        """Whether the kernel stamped what was read, so that stamps do not depend on when it was."""
        return self._reads > 0 and self._unstamped * _READS_PER_SAMPLE <= self._reads * _MOST_UNSTAMPED

    def take(self) -> bool:
        """Read what has arrived, or else look into what was put by; return whether there was either."""
        if self._crowded and time.monotonic_ns() - self._polled_ns < _NAP_NS:
            if self._behind:
                self._catch_up()
                return True
            return False
        if self._poll(since_ns=self._polled_ns):
            if self.backlog_bytes > BACKLOG_BYTES:
                self._catch_up()
            return True
        if self._behind:
            self._catch_up()
            return True
        return False

    def wait(self, until_ns: int) -> None:
        """Sleep until something arrives or is due, and read what has arrived."""
        woken = self._sleep(until_ns)
        # What woke the loop did not lie there before.
        self._poll(since_ns=0 if woken else self._polled_ns)

    def _poll(self, since_ns: int) -> bool:
        """Read what has arrived; return whether anything had.

        ``since_ns`` is since when it may have lain there: the last look, or 0 if that is not what it waited for.
        """
        asked_ns = time.monotonic_ns()
        events = self._epoll.poll(0, len(self._wires) + 1)
        if events:
            earliest_ns = self._polled_ns - STEP_NS
            self._read(events, since_ns, earliest_ns if self.clock.holds(time.monotonic_ns()) else NEVER_NS)
        self._polled_ns = asked_ns
        return bool(events)

    def _read(  # noqa: C901 - one long breath: a call to a part of it would cost as much as the part
        self, events: Sequence[tuple[int, int]], since_ns: int, earliest_ns: int
    ) -> None:
        """Read, stamp, put by; a stamp from before ``earliest_ns`` or from the future is that of a clock that was set.

        A read that ends like the last chunk may be the last and is looked into; so is any if the answer is not chunked.
        """
        wires, keeper, behind, offset_ns = self._wires, self._keeper, self._behind, self.clock.offset_ns
        clock_ns, unpack = time.monotonic_ns, _timespec.unpack
        for fd, mask in events:
            wire = wires.get(fd)
            if wire is None or ((mask != READABLE or not wire.is_reading) and not keeper.prepare(wire, mask)):
                continue
            try:
                data, control, _, _ = wire.receive(READ_BYTES, CONTROL_BYTES)
            except OSError as error:
                keeper.broken(wire, error)
                continue
            stamp_ns = now_ns = wire.heard_ns = clock_ns()
            if not data:
                keeper.hung_up(wire)
                continue
            if control:
                seconds, nanoseconds = unpack(control[0][2])
                kernel_ns = seconds * _NS + nanoseconds - offset_ns
                if earliest_ns <= kernel_ns <= now_ns:
                    stamp_ns = kernel_ns
            since_ns = since_ns or stamp_ns
            if not self._reads % _READS_PER_SAMPLE:
                self._sample(now_ns - stamp_ns, by_kernel=bool(control))
            self._reads += 1
            self.backlog_bytes += len(data)
            pending = wire.pending
            pending.append((data, stamp_ns, now_ns - since_ns))
            if not wire.framing.may_wait or len(data) < _SHORTEST_INNER_READ or data.endswith(_END_OF_CHUNKS):
                keeper.decode(wire)
            elif len(pending) == 1:
                behind.append(wire)
            if now_ns >= self.due_ns:
                keeper.send_due(now_ns)

    def _sample(self, lag_ns: int, *, by_kernel: bool) -> None:
        if by_kernel:
            self.read_lags.add(lag_ns)
        else:
            self._unstamped += 1

    def _catch_up(self) -> None:
        """Decode what waits, for as long as a slice allows."""
        until_ns = min(time.monotonic_ns() + SLICE_NS, self.due_ns)
        while self._behind:
            self._keeper.decode(self._behind.popleft())
            if time.monotonic_ns() >= until_ns:
                return

    def _sleep(self, until_ns: int) -> bool:
        """Sleep, but not through the moment when something is due; return whether an arrival would have ended it."""
        now_ns = time.monotonic_ns()
        left_ns = min(self.due_ns - _SPIN_NS, until_ns) - now_ns
        if left_ns <= 0:
            return False
        if self._is_crowded(now_ns):
            nap_ns = min(left_ns, self._polled_ns + _NAP_NS - now_ns)
            if nap_ns > 0:
                time.sleep(nap_ns / _NS)
            return False
        if left_ns >= _COARSE_NS:
            self._epoll.poll((left_ns - _MARGIN_NS) // 1_000_000 / 1000, 1)
        elif self._epoll.fileno() <= _MOST_SELECTABLE:
            select.select((self._epoll.fileno(),), (), (), left_ns / _NS)
        else:
            time.sleep(left_ns / _NS)
            return False
        return True

    def _is_crowded(self, now_ns: int) -> bool:
        """Return whether reads come so fast that to wake for each costs more than it tells: the kernel stamps them."""
        seen_ns, reads = self._seen
        if now_ns - seen_ns >= _LOOK_NS:
            self._crowded = self.kernel_stamps and (self._reads - reads) * _CROWDED_NS >= now_ns - seen_ns
            self._seen = now_ns, self._reads
        return self._crowded

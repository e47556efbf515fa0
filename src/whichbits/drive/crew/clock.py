"""Another machine's clock against ours, by asking it for the time: what NTP does, on the channel that is there.

Of several round trips the quickest is used. The other clock was read somewhere within it, most likely in the middle, so
its offset is known to half of the round trip, however unequal the two ways are (RFC 5905, section 8; Cristian 1989,
"Probabilistic clock synchronization").
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from whichbits.drive.crew.orders import AskClock, Channel

EXCHANGES = 24
"""A few milliseconds in a data centre; the quickest of as many has met no queue."""


@dataclass(frozen=True)
class ClockReading:
    """A monotonic clock less ours, and how far that may be off, both ways; nanoseconds."""

    offset_ns: int
    error_ns: int


OUR_CLOCK = ClockReading(0, 0)
"""That of a worker on our own machine: there is one monotonic clock to a kernel."""


@dataclass(frozen=True)
class ClockAgreement:
    """How well the stamps of all machines of a cell agree; nanoseconds.

    ``error_ns`` is the worst bound of any clock, ``drift_ns`` the most that any moved from the cell's begin to its
    end: stamps are shifted by the begin's offset throughout. None where a clock could not be read again.
    """

    error_ns: int
    drift_ns: int | None


def agreement(clocks: Sequence[Sequence[ClockReading]]) -> ClockAgreement | None:
    """Return how well clocks agree, each read before a cell and, if it could be, after; None if there is but ours."""
    read = [readings for readings in clocks if readings]
    if not read:
        return None
    drifts = [abs(readings[-1].offset_ns - readings[0].offset_ns) for readings in read if len(readings) > 1]
    error_ns = max(reading.error_ns for readings in read for reading in readings)
    return ClockAgreement(error_ns, max(drifts) if len(drifts) == len(read) else None)


def read_clock(channel: Channel, exchanges: int = EXCHANGES) -> ClockReading:
    """Ask a worker without a part for its time, and return its clock; EOFError or OSError if it is gone."""
    return min((_exchange(channel) for _ in range(exchanges)), key=lambda reading: reading.error_ns)


def _exchange(channel: Channel) -> ClockReading:
    asked_ns = time.monotonic_ns()
    channel.send(AskClock())
    its_ns: int = channel.recv()
    heard_ns = time.monotonic_ns()
    half_ns = -(-(heard_ns - asked_ns) // 2)
    return ClockReading(its_ns - asked_ns - half_ns, half_ns)

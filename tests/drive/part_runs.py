"""Runs of ``drive_part`` for tests: a lead that keeps everything, and the fake server in a thread of its own."""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.drive.fake_server import Answer, FakeServer, serving
from whichbits.drive.part import CellPart, PartReport
from whichbits.drive.routing import DIRECT, Route
from whichbits.drive.sending.worker import drive_part
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits
from whichbits.traffic.plan import PlannedRequest

MS = 1_000_000
GENEROUS = Limits(request_seconds=20, silence_seconds=20)


def never() -> bool:
    return False


@dataclass
class KeepingLead:
    """Starts at once, and remembers what it was told."""

    stop_when: Callable[[], bool] = never
    told_calls: list[tuple[int, int, int, int]] = field(default_factory=list)
    records: list[RequestRecord] = field(default_factory=list)
    start_ns: int = 0
    in_told: Callable[[], None] | None = None

    def start(self) -> int | None:
        self.start_ns = time.monotonic_ns() + 2 * MS
        return self.start_ns

    def stopped(self) -> bool:
        return self.stop_when()

    def told(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        self.told_calls.append((sent, finished, failed, chunks))
        if self.in_told is not None:
            self.in_told()

    def keep(self, records: Sequence[RequestRecord]) -> None:
        self.records.extend(records)


@dataclass(frozen=True)
class Capture:
    """Records in index order, and the report."""

    records: tuple[RequestRecord, ...]
    report: PartReport

    @property
    def codes(self) -> list[str | None]:
        return [record.error_code for record in self.records]


def drive(
    targets: Sequence[Target],
    planned: Sequence[PlannedRequest],
    *,
    streams: int | None = 1,
    open_loop: bool = False,
    limits: Limits = GENEROUS,
    route: Route = DIRECT,
    lead: KeepingLead | None = None,
) -> Capture:
    lead = lead or KeepingLead()
    report = drive_part(CellPart(tuple(targets), tuple(planned), streams, open_loop, limits, route, 0), lead)
    return Capture(tuple(sorted(lead.records, key=lambda record: record.index)), report)


def plan(count: int, *, output_tokens: int = 4, every_ms: float | None = None) -> list[PlannedRequest]:
    return [
        PlannedRequest(
            index=index,
            prompt=(1000 + index, 7, 7),
            output_tokens=output_tokens,
            offset_ns=None if every_ms is None else round(index * every_ms * MS),
        )
        for index in range(count)
    ]


@contextmanager
def serving_aside(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[FakeServer]:
    """Serve ``answer`` from a thread, since the loop under test blocks its own."""
    ready: list[FakeServer] = []
    is_ready, leave = threading.Event(), threading.Event()

    async def main() -> None:
        async with serving(answer, tls) as fake:
            ready.append(fake)
            is_ready.set()
            await asyncio.to_thread(leave.wait)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    is_ready.wait(60)
    try:
        yield ready[0]
    finally:
        leave.set()
        thread.join(60)


def wait_until(condition: Callable[[], bool]) -> bool:
    """Wait up to a minute; return whether the condition came to hold."""
    for _ in range(30_000):
        if condition():
            return True
        time.sleep(0.002)
    return condition()

"""A fault end to end: a server with the fault's cause, the client, the record, the numbers."""

import asyncio
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.drive.fake_server import Answer, FakeServer, Received, eventually, serving, stream
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.summary import CellSummary
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.record.columns import table_of
from whichbits.record.schema import Cell, RequestRecord
from whichbits.study.model import Limits, Load, Slo
from whichbits.traffic.plan import PlannedRequest

MS = 1_000_000
OfServer = Callable[[FakeServer], Answer]
LIMITS = Limits(request_seconds=30, silence_seconds=30)


@dataclass(frozen=True)
class Measured:
    """What a cell left: at the client, in its numbers, and at the server."""

    capture: CellCapture
    summary: CellSummary
    server: FakeServer

    @property
    def records(self) -> tuple[RequestRecord, ...]:
        return self.capture.records


def planned(count: int, *, output_tokens: int = 4, every_ms: float | None = None) -> list[PlannedRequest]:
    return [
        PlannedRequest(index, (index, 7, 7), output_tokens, None if every_ms is None else round(index * every_ms * MS))
        for index in range(count)
    ]


def measure(
    answer: Answer | None,
    requests: Sequence[PlannedRequest],
    load: Load,
    *,
    of_server: OfServer | None = None,
    slo: Slo | None = None,
    tls: tuple[ssl.SSLContext, str] | None = None,
) -> Measured:
    """Drive one cell against ``answer``, or against the answer that ``of_server`` makes of the server as it is."""

    async def main() -> Measured:
        async def reply(request: Received, writer: asyncio.StreamWriter) -> None:
            chosen = of_server(server) if of_server is not None else answer or stream()
            await chosen(request, writer)

        async with serving(reply, tls=tls[0] if tls else None) as server:
            target = replace(server.target, tls=tls is not None, ca_file=tls[1] if tls else None)
            capture = await drive_cell([target], requests, load, LIMITS, time.monotonic_ns())
        return Measured(capture, summarised(capture.records, load, slo), server)

    return asyncio.run(main())


def summarised(records: Sequence[RequestRecord], load: Load, slo: Slo | None = None) -> CellSummary:
    """Return the numbers of a cell that holds ``records``."""
    cell = Cell(0, "arm", load.concurrency, load.request_rate, 0, state="done", requests=len(records))
    return cell_summary(cell, table_of(cell, records), slo=slo)


def when_all_are_there(count: int) -> OfServer:
    """Answer nobody before ``count`` requests have arrived: a client that holds some back never gets an answer."""

    def of(server: FakeServer) -> Answer:
        async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
            await eventually(lambda: len(server.received) >= count)
            await stream()(request, writer)

        return answer

    return of

"""Servers behind a proxy: the same records by aiohttp, through a real proxy on loopback."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.drive.certificates import made_up_authority
from tests.drive.fake_proxy import proxying
from tests.drive.fake_server import HEAD, Answer, FakeServer, chunk, event, raw, serving, silence, stream, together
from whichbits.drive.cell import drive_cell
from whichbits.drive.fallback.part import drive_part_by_aiohttp, needs_fallback
from whichbits.drive.part import CellPart, PartReport
from whichbits.drive.routing import DIRECT
from whichbits.drive.target import Target
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

MS = 1_000_000
LIMITS = Limits(request_seconds=20, silence_seconds=20)
REFUSED = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nslow"


@dataclass
class Leading:
    """A lead that starts at once and keeps what it is told."""

    may_start: bool = True
    stops_after_sends: int | None = None
    records: list[RequestRecord] = field(default_factory=list)
    told_last: tuple[int, int, int, int] = (0, 0, 0, 0)

    def start(self) -> int | None:
        return time.monotonic_ns() + 5 * MS if self.may_start else None

    def stopped(self) -> bool:
        return self.stops_after_sends is not None and self.server.in_flight >= self.stops_after_sends

    def told(self, sent: int, finished: int, failed: int, chunks: int) -> None:
        self.told_last = (sent, finished, failed, chunks)

    def keep(self, records: Sequence[RequestRecord]) -> None:
        self.records.extend(records)

    server: FakeServer = field(default_factory=FakeServer)


def requests(count: int, every_ms: float | None = None) -> tuple[PlannedRequest, ...]:
    return tuple(
        PlannedRequest(index, (index, 7), 3, None if every_ms is None else round(index * every_ms * MS))
        for index in range(count)
    )


def part(
    target: Target, planned: Sequence[PlannedRequest], *, streams: int | None = 1, limits: Limits = LIMITS
) -> CellPart:
    open_loop = planned[0].offset_ns is not None
    return CellPart((target,), tuple(planned), streams, open_loop, limits, DIRECT, clock_origin_ns=0)


async def drive(cell_part: CellPart, leading: Leading | None = None) -> tuple[PartReport, list[RequestRecord]]:
    leading = leading or Leading()
    report = await asyncio.to_thread(drive_part_by_aiohttp, cell_part, leading)
    return report, sorted(leading.records, key=lambda record: record.index)


async def one(answer: Answer, limits: Limits = LIMITS) -> RequestRecord:
    async with serving(answer) as fake, proxying() as proxy:
        _, (record,) = await drive(part(replace(fake.target, proxy=proxy.url), requests(1), limits=limits))
    return record


async def test_plain_requests_are_forwarded_and_their_times_are_the_servers() -> None:
    async with serving(together(2, stream(first_s=0.05, gap_s=0.01))) as fake, proxying() as proxy:
        target = replace(fake.target, proxy=proxy.url, api_key="s3cret", replica="0")
        report, records = await drive(part(target, requests(4), streams=2))

        assert fake.peak == 2
        assert proxy.lines == [f"POST http://127.0.0.1:{fake.port}/v1/completions HTTP/1.1"] * 2
        assert "Authorization: Bearer s3cret" in fake.received[0].head
        assert fake.received[0].body["prompt"] == [0, 7]
    assert needs_fallback([target])
    assert [record.error_code for record in records] == [None] * 4
    for record in records:
        assert record.sent_ns is not None
        assert record.replica == "0"
        # A client that is late reads several chunks at once: nothing is early all the same.
        assert all(at_ns - record.sent_ns >= (49 + 9 * nth) * MS for nth, at_ns in enumerate(record.chunk_ns))
        assert tuple(record.chunk_tokens) == (1, 1, 1)
    assert set(report.late_connect_ns) == {0, 1}
    assert not report.cancelled


async def test_a_proxy_tunnels_to_a_server_whose_authority_is_named(tmp_path: Path) -> None:
    served, authority = made_up_authority(tmp_path)
    async with serving(stream(), tls=served) as fake, proxying() as proxy:
        trusting = replace(fake.target, proxy=proxy.url, tls=True, ca_file=authority)
        _, (trusted,) = await drive(part(trusting, requests(1)))
        _, (doubted,) = await drive(part(replace(trusting, ca_file=None), requests(1)))

    assert proxy.lines == [f"CONNECT 127.0.0.1:{fake.port} HTTP/1.1"] * 2
    assert trusted.error_code is None
    assert doubted.error_code == "connect_failed"
    assert "CERTIFICATE_VERIFY_FAILED" in str(doubted.error)
    assert doubted.sent_ns is None


async def test_a_proxy_that_refuses_is_a_failure_in_its_own_words(tmp_path: Path) -> None:
    served, authority = made_up_authority(tmp_path)
    async with serving(stream(), tls=served) as fake, proxying(refuse=b"407 Proxy Authentication Required") as proxy:
        secret = proxy.url.replace("//", "//me:hush@")
        target = replace(fake.target, proxy=secret, tls=True, ca_file=authority)
        _, (record,) = await drive(part(target, requests(1)))
        _, (unreached,) = await drive(part(replace(target, proxy="http://me:hush@127.0.0.1:9"), requests(1)))

    assert (record.error_code, unreached.error_code) == ("connect_failed", "connect_failed")
    assert "407" in str(record.error)
    assert "hush" not in f"{record}{unreached}"


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (raw(REFUSED), "rate_limited", "HTTP 429 (Retry-After: 7): slow"),
        (raw(HEAD, chunk(event(usage=1)), close=True), "connection_lost", ""),
        (
            raw(b"HTTP/1.1 307 Go\r\nLocation: http://other/v1?key=1\r\nContent-Length: 0\r\n\r\n"),
            "redirected",
            "http://other/v1",
        ),
    ],
)
async def test_failures_have_the_codes_of_the_own_transport(answer: Answer, code: str, words: str) -> None:
    record = await one(answer)

    assert record.error_code == code
    assert words in str(record.error)
    assert "key=1" not in str(record.error)


async def test_silence_is_a_timeout() -> None:
    assert (await one(silence, Limits(request_seconds=20, silence_seconds=0.1))).error_code == "timeout_silence"
    assert (await one(silence, Limits(request_seconds=0.2, silence_seconds=20))).error_code == "timeout_total"


async def test_an_open_loop_keeps_its_schedule_and_a_cap_counts_as_waiting() -> None:
    async with serving(together(4, stream(first_s=0.05))) as fake, proxying() as proxy:
        target = replace(fake.target, proxy=proxy.url)
        _, free = await drive(part(target, requests(4, every_ms=1), streams=None))
        _, capped = await drive(part(target, requests(3, every_ms=0), streams=1))

    assert fake.peak == 4
    starts = [record.scheduled_ns for record in free]
    assert [start - starts[0] for start in starts] == [0, MS, 2 * MS, 3 * MS]
    last = max(capped, key=lambda record: record.sent_ns or 0)
    assert last.sent_ns is not None
    assert last.sent_ns - last.scheduled_ns >= 98 * MS


async def test_a_turn_waits_for_the_one_before_it_and_for_the_thinking() -> None:
    first, other = requests(2)
    second = replace(other, follows=0, think_ns=30 * MS)
    async with serving(stream()) as fake, proxying() as proxy:
        _, (before, after) = await drive(part(replace(fake.target, proxy=proxy.url), (first, second)))

    assert before.finished_ns is not None
    assert after.scheduled_ns == before.finished_ns + 30 * MS
    assert after.sent_ns is not None
    assert after.sent_ns >= after.scheduled_ns


async def test_after_a_turn_that_failed_the_rest_of_its_session_is_not_sent() -> None:
    first, second, third = requests(3)
    session = (first, replace(second, follows=0), replace(third, follows=1))
    async with serving(raw(REFUSED)) as fake, proxying() as proxy:
        _, records = await drive(part(replace(fake.target, proxy=proxy.url), session))

    assert len(fake.received) == 1
    assert [record.error_code for record in records] == ["rate_limited", "session_broken", "session_broken"]
    assert [record.sent_ns is None for record in records] == [False, True, True]


async def test_stopping_cancels_what_is_in_flight_and_a_part_may_be_told_not_to_begin() -> None:
    async with serving(silence) as fake, proxying() as proxy:
        target = replace(fake.target, proxy=proxy.url)
        leading = Leading(stops_after_sends=2, server=fake)
        report, records = await drive(part(target, requests(4), streams=2), leading)
        idle, none = await drive(part(target, requests(4)), Leading(may_start=False))

    assert report.cancelled
    assert [record.error_code for record in records] == ["cancelled", "cancelled"]
    assert leading.told_last[:3] == (2, 2, 0)  # sent, ended, failed
    assert idle.cancelled
    assert none == []


async def test_a_cell_behind_a_proxy_is_an_ordinary_cell() -> None:
    """Chosen by the target alone: the same face, verdict and records."""
    async with serving(stream(gap_s=0.01)) as fake, proxying() as proxy:
        target = replace(fake.target, proxy=proxy.url)
        capture = await drive_cell([target], requests(6), Load(concurrency=2), LIMITS, 0)

    assert [record.error_code for record in capture.records] == [None] * 6
    assert [record.index for record in capture.records] == list(range(6))
    assert len(proxy.lines) == 2
    assert capture.health.loop_lag_p99_ms is not None
    assert set(capture.late_connect_ns) == {0, 1}

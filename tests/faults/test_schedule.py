"""Faults of when requests leave and of what their latency counts from."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tests.analyze.make_cell import CELL, summary
from tests.drive.certificates import made_up_authority
from tests.drive.fake_server import HEAD, LAST_CHUNK, FakeServer, Received, chunk, event, raw, serving, stream, together
from tests.faults.measured import MS, measure, planned, when_all_are_there
from tests.record.make_run import ended, manifest, record
from whichbits.analyze.curves.drift import drifts
from whichbits.analyze.curves.slo import slo_capacities
from whichbits.analyze.findings import Observed
from whichbits.analyze.findings.client import client_limits
from whichbits.conduct.arms.warm import warm_up
from whichbits.drive.crew.crew import Crew
from whichbits.serve.arm import RunningArm
from whichbits.serve.endpoint.replica import Endpoint
from whichbits.study.model import Load, Study
from whichbits.study.read import quickstart


def test_fault_01_waiting_for_the_clients_own_slot_is_in_no_latency() -> None:
    """vllm#54101. Six requests of one moment, two slots, answers of 40 ms: the last two waited for 80 ms."""
    answer = together(2, stream(first_s=0.04))
    found = measure(answer, planned(6, every_ms=0), Load(request_rate=100, concurrency=2))
    waits = sorted((each.sent_ns or 0) - each.scheduled_ns for each in found.records)

    assert found.server.peak == 2
    assert waits[-2] >= 78 * MS
    assert found.summary.ttft_ms.p99 is not None
    assert found.summary.ttft_ms.p99 >= 118
    assert found.summary.e2e_ms.p99 is not None
    assert found.summary.e2e_ms.p99 >= found.summary.ttft_ms.p99
    assert found.summary.ttft_from_send_ms.n == 6


def test_fault_02_a_stalled_server_holds_later_requests_back() -> None:
    """guidellm#1048, coordinated omission. The server answers nobody before the last request is there."""
    found = measure(None, planned(12, every_ms=10), Load(request_rate=100), of_server=when_all_are_there(12))
    first = found.records[0]

    assert [each.error_code for each in found.records] == [None] * 12
    assert [each.scheduled_ns - first.scheduled_ns for each in found.records] == [n * 10 * MS for n in range(12)]
    assert first.chunk_ns[0] - first.scheduled_ns >= 109 * MS
    assert found.capture.health.send_lag_p99_ms is not None


def test_fault_14_tls_handshakes_are_in_ttft(tmp_path: Path) -> None:
    """vllm PR #21981. All handshakes are over before the clock starts; one that comes later is told apart."""
    at_first_request: list[int] = []

    def of(server: FakeServer) -> object:
        at_first_request.append(server.connections)
        return stream()

    found = measure(
        None,
        planned(8),
        Load(concurrency=4),
        of_server=of,  # type: ignore[arg-type]
        tls=made_up_authority(tmp_path),
    )

    assert [each.error_code for each in found.records] == [None] * 8
    assert at_first_request[0] == 4
    assert found.capture.late_connect_ns == {}


def test_fault_14_a_late_handshake_is_told_apart(tmp_path: Path) -> None:
    closing = HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    answer = raw(closing, chunk(event("a", finish="length", usage=4)), LAST_CHUNK, close=True)

    found = measure(answer, planned(4), Load(concurrency=1), tls=made_up_authority(tmp_path))

    assert [each.error_code for each in found.records] == [None] * 4
    assert found.server.connections >= 4
    assert found.capture.late_connect_ns
    for index, took_ns in found.capture.late_connect_ns.items():
        late = found.records[index]
        assert late.sent_ns is not None
        assert late.sent_ns - late.scheduled_ns >= took_ns


def test_fault_15_a_pool_of_a_hundred_caps_the_load_silently() -> None:
    """guidellm#487. Two hundred and forty streams are as many at once, at the server and in the numbers."""
    found = measure(None, planned(240), Load(concurrency=240), of_server=when_all_are_there(240))

    assert [each.error_code for each in found.records] == [None] * 240
    assert found.server.peak == 240
    assert found.summary.peak_concurrency == 240


def test_fault_18_requests_of_a_burst_do_not_leave_together() -> None:
    """guidellm#1041. A hundred requests of one moment: none is answered before all of them have left."""
    found = measure(None, planned(100, every_ms=0), Load(request_rate=1000), of_server=when_all_are_there(100))

    assert [each.error_code for each in found.records] == [None] * 100
    assert found.server.peak == 100
    assert found.capture.health.send_lag_p99_ms is not None


def test_fault_20_a_late_client_is_taken_for_a_slow_server() -> None:
    """llm-d-benchmark#261, inference-perf#86, #245. Lag is measured in every cell, and limited cells left out."""
    found = measure(stream(gap_s=0.01), planned(4, output_tokens=20), Load(concurrency=2))
    records = [record()]
    limited = ended(CELL, records, "client_limited")
    late = replace(summary(CELL.arm, 4, 10.0), client_verdict="client_limited", slo_share=1.0)

    assert found.capture.health.loop_lag_p99_ms is not None
    assert found.capture.health.sub_millisecond_gap_share is not None
    (said,) = client_limits(Observed(manifest(cells=[limited]), [late]))
    assert said.code == "client_limited"
    assert slo_capacities([late], [CELL.arm]) == ()
    assert slo_capacities([replace(late, client_verdict="client_ok")], [CELL.arm]) != ()


def test_fault_21_equal_runs_that_get_slower_are_averaged() -> None:
    """sglang#8285. TTFT went from 1.7 s to 47 s over five equal runs: repeats are kept apart, and a trend is told."""
    cells = [
        replace(summary("a", 8, value, repeat), cell=repeat)
        for repeat, value in enumerate((1_700.0, 6_000.0, 15_000.0, 28_000.0, 47_000.0))
    ]

    (said,) = drifts(cells, {number: number * 60 * 10**9 for number in range(5)})

    assert said.code == "drift"
    assert "slower" in said.text


def test_fault_25_the_first_use_of_a_kernel_is_measured() -> None:
    """evalscope#1627, aicr#1096. The first wave is fifty times slower here, and over when the first cell starts."""
    slow_ones: list[float] = []

    async def compiles_first(request: Received, writer: asyncio.StreamWriter) -> None:
        cold = len(slow_ones) < 4
        if cold:
            slow_ones.append(time.monotonic())
        await stream(first_s=0.1 if cold else 0.0, gap_s=0.25 if cold else 0.005)(request, writer)

    async def main() -> tuple[float, ...]:
        async with serving(compiles_first) as server:
            endpoint = Endpoint("127.0.0.1", server.port, "tiny", "0")
            fleet = SimpleNamespace(endpoints=[endpoint], replicas=[])
            running = cast("RunningArm", SimpleNamespace(fleet=fleet, tells_usage=True))
            with Crew.inline() as crew:
                return (await warm_up(study, running, crew)).medians_ms

    rule = {"at_least_requests": 4, "at_most_requests": 64, "stable_within": 0.5}
    traffic = {"kind": "random", "input_tokens": 4, "output_tokens": 8}
    study = Study.model_validate(quickstart().model_dump(mode="json") | {"warm_up": rule, "traffic": traffic})
    medians = asyncio.run(main())

    assert len(slow_ones) == 4
    assert medians[0] >= 200
    assert len(medians) >= 3

"""The client's verdict on itself, from made-up observations."""

from dataclasses import replace
from typing import Any

import pytest

from whichbits.drive.client_measures import Observations
from whichbits.drive.crew.clock import ClockAgreement
from whichbits.drive.crew.tally import Sample, Tally
from whichbits.drive.health import check
from whichbits.drive.part import PartReport

MS = 1_000_000
SECOND = 1_000_000_000
TTFT_MS = 100
GAP_MS = 20


def part(**changed: Any) -> PartReport:
    """Ten seconds of an idle worker with kernel stamps: 10 answers of 11 chunks."""
    quiet = PartReport(
        started_ns=0,
        finished_ns=10 * SECOND,
        cancelled=False,
        cpu_ns=SECOND,
        send_lags_ns=(MS // 10,) * 10,
        loop_lags_ns=(MS // 10,) * 100,
        read_lags_ns=(MS // 20,) * 100,
        gaps=100,
        short_gaps=0,
        merged_gaps=0,
        late_connect_ns={},
        kernel_stamps=True,
    )
    return replace(quiet, **changed)


def tally(*, gap_ms: float = GAP_MS) -> Tally:
    """Ten answers with TTFT 100 ms, a chunk every 20 ms, and 300 ms from send to end."""
    return Tally(
        requests=10,
        sent=10,
        first_sent_ns=0,
        last_sent_ns=9 * SECOND,
        gaps=100,
        gap_span_ns=round(100 * gap_ms * MS),
        answered=10,
        e2e_ns=10 * 300 * MS,
        ttft_ns=Sample([TTFT_MS * MS] * 10),
    )


def seen(*parts: PartReport, open_loop: bool = True, gap_ms: float = GAP_MS, **changed: Any) -> Observations:
    return Observations(open_loop, parts or (part(**changed),), tally(gap_ms=gap_ms))


def test_an_idle_client_is_fine() -> None:
    """No reasons, and the numbers that say so."""
    health = check(seen())

    assert health.verdict == "client_ok"
    assert health.reasons == ()
    assert health.cpu_share == 0.1
    assert health.send_lag_p99_ms == 0.1
    assert health.loop_lag_p99_ms == 0.1
    assert health.read_lag_p99_ms == 0.05
    assert health.merged_gap_share == 0
    assert health.sub_millisecond_gap_share == 0
    assert health.kernel_stamps is True
    assert health.workers == 1
    assert (health.requested_rate, health.achieved_rate) == (None, None)


@pytest.mark.parametrize(
    ("lag_ms", "open_loop", "verdict"),
    [
        (5, True, "client_ok"),
        (20, True, "client_suspect"),
        (60, True, "client_limited"),
        (5, False, "client_ok"),
        (20, False, "client_suspect"),  # a fifth of the TTFT, but little of a request
        (60, False, "client_suspect"),
        (200, False, "client_limited"),
    ],
)
def test_send_lag_counts_by_what_it_blurs(lag_ms: int, open_loop: bool, verdict: str) -> None:
    """It is in a TTFT of 100 ms from the schedule; a closed loop is not limited before it loses from its 300 ms."""
    assert check(seen(open_loop=open_loop, send_lags_ns=(lag_ms * MS,) * 10)).verdict == verdict


@pytest.mark.parametrize(("stamped", "verdict"), [(True, "client_suspect"), (False, "client_ok")])
def test_a_loops_timers_are_coarser_than_the_kernels_stamps(stamped: bool, verdict: str) -> None:
    """A lag of 1.5 ms in a TTFT of 10 ms."""
    quick = replace(tally(), ttft_ns=Sample([10 * MS] * 10))
    lagging = part(send_lags_ns=(3 * MS // 2,) * 10, kernel_stamps=stamped)

    assert check(Observations(open_loop=True, parts=(lagging,), tally=quick)).verdict == verdict


@pytest.mark.parametrize(
    ("merged", "verdict"),
    [
        (5, "client_ok"),  # 10 false gaps in 1000
        (6, "client_suspect"),
        (25, "client_suspect"),
        (26, "client_limited"),
    ],
)
def test_with_kernel_stamps_what_counts_is_gaps_that_merged(merged: int, verdict: str) -> None:
    many = replace(tally(), gaps=1000, gap_span_ns=1000 * GAP_MS * MS)
    health = check(Observations(open_loop=True, parts=(part(merged_gaps=merged),), tally=many))

    assert health.verdict == verdict
    assert health.merged_gap_share == merged / 1000


@pytest.mark.parametrize(("merged", "verdict"), [(100, "client_ok"), (106, "client_suspect")])
def test_what_a_bundling_server_closed_is_not_held_against_a_late_client(merged: int, verdict: str) -> None:
    """It sends in pairs: half of the gaps are closed in reads that are not late, so half of those in late ones."""
    many = replace(tally(), gaps=1000, gap_span_ns=1000 * GAP_MS * MS)
    bundled = part(gaps=1000, late_gaps=200, merged_gaps=merged, bundled_gaps=400)

    assert check(Observations(open_loop=True, parts=(bundled,), tally=many)).verdict == verdict


def test_with_kernel_stamps_late_reads_and_a_busy_core_are_only_told() -> None:
    """The stamps are right all the same; that little more fits is worth a word."""
    health = check(seen(read_lags_ns=(12 * MS,) * 10, loop_lags_ns=(12 * MS,) * 10, cpu_ns=95 * SECOND // 10))

    assert health.verdict == "client_ok"
    assert health.read_lag_p99_ms == 12
    assert health.reasons == (
        "the busiest worker used 95% of one core",
        "reads: p99 lag 12.0 ms is 60% of the mean gap between chunks (20.0 ms)",
    )
    assert check(seen(read_lags_ns=(9 * MS,) * 10, cpu_ns=6 * SECOND)).reasons == ()


@pytest.mark.parametrize(
    ("lag_ms", "gap_ms", "verdict"),
    [
        (1.9, 4, "client_ok"),
        (3, 20, "client_suspect"),
        (15, 20, "client_limited"),
        (3, 200, "client_ok"),
        (3, 0, "client_limited"),  # whole answers in single reads: nothing between their chunks was resolved
    ],
)
def test_without_kernel_stamps_the_loops_lag_counts(lag_ms: float, gap_ms: float, verdict: str) -> None:
    health = check(seen(gap_ms=gap_ms, loop_lags_ns=(round(lag_ms * MS),), kernel_stamps=False))

    assert health.verdict == verdict
    assert (health.read_lag_p99_ms, health.merged_gap_share, health.kernel_stamps) == (None, None, False)


def test_without_kernel_stamps_a_busy_core_limits_the_client() -> None:
    """One thread: 80 % of a core is suspect, 95 % is the limit; in a tiny cell the share says nothing."""
    assert check(seen(kernel_stamps=False, cpu_ns=8 * SECOND)).verdict == "client_suspect"
    assert check(seen(kernel_stamps=False, cpu_ns=95 * SECOND // 10)).verdict == "client_limited"
    assert check(seen(cpu_ns=10**7, finished_ns=10**7)).cpu_share is None


def test_the_busiest_worker_counts() -> None:
    health = check(seen(part(), part(cpu_ns=8 * SECOND, kernel_stamps=False), part()))

    assert health.workers == 3
    assert health.cpu_share == 0.8
    assert health.verdict == "client_suspect"


def test_one_worker_without_kernel_stamps_is_judged_by_the_older_rule_for_all() -> None:
    health = check(seen(part(), part(kernel_stamps=False, loop_lags_ns=(15 * MS,) * 100)))

    assert health.kernel_stamps is False
    assert health.verdict == "client_limited"


def test_lags_of_all_workers_are_pooled() -> None:
    """A worker with 1 lag in 200 leaves p99 to the others."""
    lagging = part(send_lags_ns=(60 * MS, *[MS] * 99))

    assert check(seen(lagging)).verdict == "client_ok"
    assert check(seen(lagging, part(send_lags_ns=(60 * MS,) * 100))).verdict == "client_limited"


def test_short_gaps_are_blamed_on_whoever_was_late() -> None:
    """Beside an idle client they are the server's bursts, beside a slow one its own lateness."""
    idle = check(seen(short_gaps=30))
    late = check(seen(short_gaps=30, loop_lags_ns=(15 * MS,), kernel_stamps=False))

    assert idle.sub_millisecond_gap_share == 0.3
    assert idle.verdict == "client_ok"
    assert "sent in bursts" in idle.reasons[0]
    assert "client read late" in late.reasons[-1]


def test_handshakes_inside_requests_are_told() -> None:
    assert "20% of the requests had to open a connection" in check(seen(late_connect_ns={3: MS, 4: MS})).reasons[0]


def test_a_rate_that_was_not_reached_is_told() -> None:
    """Ten sends in nine seconds are one a second: as planned, or half of it."""
    reached, missed = (check(replace(seen(), requested_rate=rate)) for rate in (1.0, 2.0))

    assert (reached.achieved_rate, reached.reasons) == (1, ())
    assert missed.verdict == "client_ok"
    assert missed.reasons == ("1 requests/s left where 2 were planned: a cap or the client held them back",)


@pytest.mark.parametrize(
    ("error_ms", "drift_ms", "rate", "note"),
    [
        (0.05, 0.04, 1000.0, None),
        (0.15, 0.05, 1000.0, "within 0.2 ms, 20% of the gap between arrivals (1 ms)"),
        (0.15, None, 1000.0, "within 0.15 ms, 15% of the gap between arrivals (1 ms)"),
        (20, 9, None, None),
        (20, 40, None, "within 60 ms, 20% of the mean request (300 ms)"),
    ],
)
def test_clocks_of_machines_are_held_against_what_they_blur(
    error_ms: float, drift_ms: float | None, rate: float | None, note: str | None
) -> None:
    """Told, and no verdict: no latency depends on two clocks."""
    clocks = ClockAgreement(round(error_ms * MS), None if drift_ms is None else round(drift_ms * MS))
    observed = replace(seen(open_loop=rate is not None), requested_rate=rate, clocks=clocks)
    health = check(observed)

    assert health.verdict == "client_ok"
    assert (health.clock_error_ms, health.clock_drift_ms) == (error_ms, drift_ms)
    told = [reason for reason in health.reasons if "clocks" in reason]
    assert len(told) == (note is not None)
    assert note is None or note in told[0]


def test_nothing_answered_is_not_the_clients_fault_and_not_zero() -> None:
    """Unknown stays None."""
    health = check(Observations(open_loop=True, parts=(), tally=Tally(), requested_rate=5.0))

    assert health.verdict == "client_ok"
    assert (health.send_lag_p99_ms, health.loop_lag_p99_ms, health.cpu_share) == (None, None, None)
    assert (health.sub_millisecond_gap_share, health.merged_gap_share, health.read_lag_p99_ms) == (None, None, None)
    assert (health.workers, health.kernel_stamps, health.achieved_rate) == (None, None, None)

"""The client's verdict on itself, from made-up observations."""

from dataclasses import replace

from whichbits.drive.answer import Answer
from whichbits.drive.exchange import Exchange
from whichbits.drive.health import Observations, check

MS = 1_000_000
TTFT_MS = 100
GAP_MS = 20


def observations(*, send_lag_ms: float = 0.1, open_loop: bool = True) -> Observations:
    """Ten answers with TTFT 100 ms and chunks every 20 ms, on an idle client."""
    exchanges = [Exchange(n, None, 11, scheduled_ns=0, due_ns=0, sent_ns=round(send_lag_ms * MS)) for n in range(10)]
    stamps = [(TTFT_MS + GAP_MS * n) * MS for n in range(11)]
    answers = [Answer(chunk_ns=stamps, chunk_tokens=[1] * 11, separate_gaps=10) for _ in range(10)]
    return Observations(open_loop, exchanges, answers, [MS // 10] * 100, 10**9, 10 * 10**9)


def test_an_idle_client_is_fine() -> None:
    """No reasons, and the numbers that say so."""
    health = check(observations())

    assert health.verdict == "client_ok"
    assert health.reasons == ()
    assert health.cpu_share == 0.1
    assert health.send_lag_p99_ms == 0.1
    assert health.sub_millisecond_gap_share == 0


def test_loop_lag_counts_by_the_gap_that_it_blurs() -> None:
    """3 ms of a 20 ms gap is suspect, 15 ms is the limit, and of a 200 ms gap 3 ms is nothing."""
    fast = observations()
    slow_answers = [replace(answer, chunk_ns=[10 * t for t in answer.chunk_ns]) for answer in fast.answers]

    assert check(replace(fast, loop_lags_ns=[3 * MS])).verdict == "client_suspect"
    assert check(replace(fast, loop_lags_ns=[15 * MS])).verdict == "client_limited"
    assert check(replace(fast, loop_lags_ns=[3 * MS], answers=slow_answers)).verdict == "client_ok"


def test_send_lag_counts_by_the_ttft_that_it_blurs() -> None:
    """Against 100 ms: 5 is fine, 20 suspect, 60 the limit; a closed loop has no schedule to lag behind."""
    verdicts = [check(observations(send_lag_ms=lag)).verdict for lag in (5, 20, 60)]

    assert verdicts == ["client_ok", "client_suspect", "client_limited"]
    closed = check(observations(send_lag_ms=60, open_loop=False))
    assert closed.send_lag_p99_ms is None
    assert closed.verdict == "client_ok"


def test_waiting_for_a_slot_is_not_the_clients_lag() -> None:
    """A capped request that waited 50 ms for its slot and then left at once is on time."""
    seen = observations(send_lag_ms=50)
    for exchange in seen.exchanges:
        exchange.due_ns = 50 * MS

    assert check(seen).send_lag_p99_ms == 0


def test_a_busy_core_limits_the_client() -> None:
    """One thread: 80 % of a core is suspect, 95 % is the limit; in a tiny cell the share says nothing."""
    seen = observations()

    assert check(replace(seen, cpu_ns=8 * 10**9)).verdict == "client_suspect"
    assert check(replace(seen, cpu_ns=95 * 10**8)).verdict == "client_limited"
    assert check(replace(seen, cpu_ns=10**7, duration_ns=10**7)).cpu_share is None


def test_short_gaps_are_blamed_on_whoever_was_late() -> None:
    """Beside an idle client they are the server's bursts, beside a slow one its own lateness."""
    seen = observations()
    bursty = replace(seen, answers=[replace(answer, short_gaps=3) for answer in seen.answers])

    idle, late = check(bursty), check(replace(bursty, loop_lags_ns=[15 * MS]))

    assert idle.sub_millisecond_gap_share == 0.3
    assert idle.verdict == "client_ok"
    assert "sent in bursts" in idle.reasons[0]
    assert "client read late" in late.reasons[-1]


def test_answers_that_came_whole_resolve_nothing_for_a_late_client() -> None:
    """Every chunk of an answer in one read: no gap to hold the lag against, and none that could be trusted."""
    seen = observations()
    whole = replace(
        seen,
        answers=[replace(answer, chunk_ns=[answer.chunk_ns[0]] * len(answer.chunk_ns)) for answer in seen.answers],
        loop_lags_ns=[3 * MS],
    )

    assert check(whole).verdict == "client_limited"


def test_nothing_answered_is_not_the_clients_fault_and_not_zero() -> None:
    """Unknown stays None."""
    health = check(Observations(open_loop=True, exchanges=[], answers=[], loop_lags_ns=[], cpu_ns=0, duration_ns=0))

    assert health.verdict == "client_ok"
    assert (health.send_lag_p99_ms, health.loop_lag_p99_ms, health.cpu_share) == (None, None, None)
    assert health.sub_millisecond_gap_share is None

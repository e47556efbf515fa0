"""Errors against a truth worked out by hand."""

import pytest

from whichbits.conduct.self_test.compare import errors, lateness_ms
from whichbits.record.schema import RequestRecord
from whichbits.serve.mock.engine.truth import TrueRequest

MS = 1_000_000


def noted(index: int, *chunks_ms: float) -> RequestRecord:
    times = [round(at * MS) for at in chunks_ms]
    return RequestRecord(
        index=index,
        replica=None,
        requested_output_tokens=len(times),
        prompt_tokens=3,
        cached_tokens=None,
        output_tokens=len(times),
        scheduled_ns=0,
        sent_ns=0,
        first_byte_ns=0,
        finished_ns=times[-1],
        chunk_ns=times,
        chunk_tokens=[1] * len(times),
        finish_reason="length",
        done_seen=True,
        http_status=200,
        error_code=None,
        error=None,
    )


def true(*sent_ms: float, due_ms: tuple[float, ...] = (), events: int = 1) -> TrueRequest:
    sent = [round(at * MS) for at in sent_ms]
    due = [round(at * MS) for at in due_ms or sent_ms]
    return TrueRequest(0, None, (0,), 3, 0, "done", 0, 0, due, sent, [[1] * events] * len(sent))


def test_errors_are_of_gaps_and_of_first_chunks() -> None:
    records = [noted(0, 10.5, 20.5, 33.5), noted(7, 12.0, 22.0)]
    truth = {0: true(10, 20, 30), 7: true(11, 21)}

    found = errors(records, truth)

    # Gaps: 10 against 10, 13 against 10, 10 against 10; first chunks 0.5 and 1.0 late.
    assert found.itl_p50 == pytest.approx(0.0)
    assert found.itl_p99 == pytest.approx(0.98 * 3.0)
    assert found.ttft_p50 == pytest.approx(0.75)
    assert found.worst_p99 == found.itl_p99


def test_chunks_that_were_sent_together_have_one_true_time() -> None:
    assert errors([noted(0, 5, 5, 9, 9)], {0: true(5, 9, events=2)}).worst_p99 == 0


def test_a_mock_is_late_by_its_own_plan_and_in_a_step_by_its_first_send() -> None:
    assert lateness_ms([true(12, 22, due_ms=(10, 20))]) == pytest.approx(2.0)
    together = [true(10.1, due_ms=(10,)), true(10.9, due_ms=(10,)), true(11.7, due_ms=(10,))]
    assert lateness_ms(together) == pytest.approx(0.1)
    assert lateness_ms([true()]) == 0

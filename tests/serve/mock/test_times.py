"""Times: what is sent when, against a plain socket and against the plan."""

import numpy as np

from tests.serve.mock.wire import mock, read_all, request

MS = 1_000_000


def test_every_event_is_read_after_its_true_send_and_none_is_sent_before_it_is_due() -> None:
    with mock(ttft_ms=10, itl_ms=5) as served:
        reply = served.complete(tokens=6)
        (true,) = served.truth()

    reads = [at for at, data in reply.reads for _ in range(data.count(b'"text"'))]
    assert len(reads) == len(true.sent_ns) == len(true.due_ns) == 6
    assert true.received_ns <= (true.admitted_ns or 0)
    assert all(sent >= due for sent, due in zip(true.sent_ns, true.due_ns, strict=True))
    assert all(read >= sent for read, sent in zip(reads, true.sent_ns, strict=True))
    assert true.due_ns[0] >= (true.admitted_ns or 0) + 10 * MS
    assert np.diff(true.due_ns).tolist() == [5 * MS] * 5  # the plan does not drift, however late a send is


def test_a_prompt_costs_time_by_its_tokens() -> None:
    with mock(ttft_ms=1, ttft_per_token_ms=2, itl_ms=0) as served:
        served.complete(prompt=[7] * 5)
        (true,) = served.truth()

    assert true.due_ns[0] - (true.admitted_ns or 0) == 11 * MS


def test_jitter_varies_each_gap_within_its_share_and_alike_for_a_seed() -> None:
    gaps = []
    for seed in (3, 3, 4):
        with mock(itl_ms=4, jitter=0.5, seed=seed) as served:
            served.complete(tokens=8)
            gaps.append(np.diff(served.truth()[0].due_ns).tolist())

    assert gaps[0] == gaps[1] != gaps[2]
    assert len(set(gaps[0])) > 1
    assert all(2 * MS <= gap <= 6 * MS for gap in gaps[0])


def test_who_has_no_slot_waits_until_another_has_its_last_token() -> None:
    asked = request(
        "/v1/completions", {"prompt": [1], "max_tokens": 4, "stream": True}, headers="Connection: close\r\n"
    )
    with mock(slots=1, itl_ms=100) as served, served.connect() as one, served.connect() as other:
        one.sendall(asked)
        other.sendall(asked)
        assert read_all(one).events[-1] == read_all(other).events[-1] == "[DONE]"
        first, second = served.truth()

    assert (second.admitted_ns or 0) >= first.sent_ns[-1]
    assert second.received_ns < first.sent_ns[-1]

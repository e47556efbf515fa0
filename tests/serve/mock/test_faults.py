"""Faults come as ordered, on the requests that they were ordered for."""

import threading

import pytest

from tests.serve.mock.wire import Reply, mock, request
from whichbits.errors import BadInput
from whichbits.serve.mock.faults import Fault, parse_faults


def one(fault: str, tokens: int = 4) -> Reply:
    with mock(faults=fault) as served:
        return served.complete(tokens=tokens)


@pytest.mark.parametrize(("status", "retry"), [(429, True), (503, True), (500, False)])
def test_a_status_instead_of_an_answer(status: int, retry: bool) -> None:
    reply = one(f"status={status}")

    assert reply.status == status
    assert ("Retry-After: 1" in reply.head) == retry
    assert reply.json["error"]["code"] == status


def test_an_error_in_the_stream_after_so_many_tokens() -> None:
    reply = one("error=2")

    assert ["error" in chunk for chunk in reply.chunks] == [False, False, True]
    assert "[DONE]" not in reply.events


def test_a_connection_is_cut_after_so_many_tokens_before_the_end_of_the_body() -> None:
    with mock(faults="cut=2") as served:
        reply = served.complete(tokens=4)
        (true,) = served.truth()

    assert reply.raw.count(b'"text"') == len(true.sent_ns) == 2
    assert not reply.raw.endswith(b"0\r\n\r\n")
    assert true.outcome == "cut"


def test_a_connection_is_reset() -> None:
    assert one("reset=1").reset


def test_an_answer_without_its_end_mark() -> None:
    reply = one("no_done")

    assert len(reply.chunks) == 4
    assert "[DONE]" not in reply.events


def test_an_answer_stalls_and_others_go_on() -> None:
    with mock(faults="stall=2@0", itl_ms=1) as served, served.connect() as wire:
        wire.sendall(request("/v1/completions", {"prompt": [1], "max_tokens": 4, "stream": True}))
        while served.truth()[0].sent_ns[1:] == []:
            pass
        assert served.complete(tokens=30).events[-1] == "[DONE]"
        assert len(served.truth()[0].sent_ns) == 2


def test_lines_end_with_crlf_comments_come_between_and_no_space_follows() -> None:
    body = one("crlf comments no_space").body

    assert b": ping\r\n\r\ndata:{" in body
    assert b"data: " not in body
    assert b"\n" not in body.replace(b"\r\n", b"")


def test_headers_come_in_pieces_and_the_answer_behind_them() -> None:
    reply = one("slow_headers=800")

    ends = [at for at, data in reply.reads]
    assert len(ends) > 4
    assert b"\r\n\r\n" not in reply.reads[0][1]
    assert reply.events[-1] == "[DONE]"
    assert len(reply.chunks) == 4


def test_a_fault_falls_on_the_requests_named() -> None:
    with mock(faults="status=503@1,2") as served:
        statuses = [served.complete(tokens=1).status for _ in range(4)]

    assert statuses == [200, 503, 503, 200]


def test_a_share_of_faults_is_about_that_share_and_the_same_every_time() -> None:
    (fault,) = parse_faults("cut=3@20%")
    struck = [fault.falls_on(number, seed=1) for number in range(2000)]

    assert 300 < sum(struck) < 500  # 400 expected; five sigma are 90
    assert struck == [fault.falls_on(number, seed=1) for number in range(2000)]
    assert struck != [fault.falls_on(number, seed=2) for number in range(2000)]


def test_faults_are_read() -> None:
    assert parse_faults("status=503@10%  cut=5@3,7 no_done") == (
        Fault("status", 503, 0.1),
        Fault("cut", 5, 1.0, (3, 7)),
        Fault("no_done"),
    )


@pytest.mark.parametrize("text", ["flood", "cut", "cut=x", "cut=-1", "no_done=1", "cut=1@x", "status=503@-5%"])
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_faults(text)

    assert refused.value.code == "mock_fault"


def test_many_at_once_are_each_hit_as_ordered() -> None:
    outcomes: list[str] = []
    with mock(faults="cut=1@0,2,4", cadence="steps") as served:
        threads = [threading.Thread(target=served.complete) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        outcomes = [true.outcome for true in served.truth()]

    assert outcomes == ["cut", "done"] * 3

"""What is due when, without a clock: times are handed in."""

import pytest

from whichbits.drive.sending.agenda import Agenda, closed_loop, open_loop
from whichbits.traffic.plan import PlannedRequest


def request(index: int, offset_ns: int | None = None, follows: int | None = None, think_ns: int = 0) -> PlannedRequest:
    return PlannedRequest(index, (index,), 1, offset_ns, follows=follows, think_ns=think_ns)


def taken(agenda: Agenda, now_ns: int) -> list[tuple[int, int, int]]:
    """Take all that may leave by ``now_ns``: index, scheduled, due."""
    departures = []
    while (departure := agenda.take(now_ns)) is not None:
        departures.append((departure.planned.index, departure.scheduled_ns, departure.due_ns))
    return departures


def begun(agenda: Agenda, start_ns: int) -> Agenda:
    assert agenda.next_due_ns() is None
    agenda.begin(start_ns)
    return agenda


def test_streams_take_requests_in_order_when_they_are_free() -> None:
    agenda = begun(closed_loop([request(index) for index in range(4)], 2), 100)

    assert agenda.next_due_ns() == 100
    assert taken(agenda, 99) == []
    assert taken(agenda, 100) == [(0, 100, 100), (1, 100, 100)]
    assert agenda.next_due_ns() is None
    agenda.ended(1, 130, failed=True)
    assert taken(agenda, 140) == [(2, 130, 130)]
    agenda.ended(0, 150, failed=False)
    assert not agenda.over
    assert taken(agenda, 150) == [(3, 150, 150)]
    assert agenda.over


def test_an_open_loop_keeps_offsets_in_whatever_order_they_are_written() -> None:
    agenda = begun(open_loop([request(0, 20), request(1, 5)], None), 100)

    assert agenda.next_due_ns() == 105
    assert taken(agenda, 104) == []
    assert taken(agenda, 119) == [(1, 105, 105)]
    assert agenda.next_due_ns() == 120
    assert taken(agenda, 500) == [(0, 120, 120)]
    assert agenda.over


def test_a_wait_for_a_slot_is_in_due_and_not_in_scheduled() -> None:
    agenda = begun(open_loop([request(index, index) for index in range(3)], 1), 100)

    assert taken(agenda, 110) == [(0, 100, 100)]
    assert agenda.next_due_ns() is None
    agenda.ended(0, 150, failed=False)
    assert taken(agenda, 155) == [(1, 101, 150)]
    # Nobody waits when this slot becomes free before the schedule.
    agenda.ended(1, 101, failed=False)
    assert taken(agenda, 160) == [(2, 102, 102)]


def test_a_later_turn_is_due_after_thinking_and_before_other_work_of_its_time() -> None:
    agenda = begun(open_loop([request(0, 0), request(1, follows=0, think_ns=30), request(2, 60), request(3, 20)], 1), 0)

    assert taken(agenda, 0) == [(0, 0, 0)]
    agenda.ended(0, 10, failed=False)
    assert agenda.next_due_ns() == 20
    assert taken(agenda, 20) == [(3, 20, 20)]
    agenda.ended(3, 70, failed=False)
    assert taken(agenda, 70) == [(1, 40, 70)]
    agenda.ended(1, 80, failed=False)
    assert taken(agenda, 80) == [(2, 60, 80)]
    assert agenda.over


def test_a_thinking_session_keeps_its_stream_in_a_closed_loop() -> None:
    agenda = begun(closed_loop([request(0), request(1, follows=0, think_ns=30), request(2)], 1), 0)

    assert taken(agenda, 0) == [(0, 0, 0)]
    assert agenda.is_followed(0)
    agenda.ended(0, 10, failed=False)
    assert agenda.next_due_ns() == 40
    assert taken(agenda, 39) == []
    assert taken(agenda, 41) == [(1, 40, 40)]
    agenda.ended(1, 50, failed=False)
    assert taken(agenda, 50) == [(2, 50, 50)]


def test_a_failed_turn_takes_all_later_ones_with_it() -> None:
    agenda = begun(closed_loop([request(0), request(1, follows=0), request(2, follows=1), request(3)], 1), 0)
    taken(agenda, 0)

    broken = agenda.ended(0, 10, failed=True)

    assert [turn.index for turn in broken] == [1, 2]
    assert taken(agenda, 10) == [(3, 10, 10)]
    assert agenda.over


@pytest.mark.parametrize(
    "planned",
    [
        [request(1, follows=0)],
        [request(0), request(1, follows=0), request(2, follows=0)],
    ],
    ids=["the first turn is elsewhere", "two turns follow one"],
)
def test_turns_that_do_not_follow_each_other_are_refused(planned: list[PlannedRequest]) -> None:
    with pytest.raises(ValueError, match="one part"):
        closed_loop(planned, 1)


def test_an_open_loop_needs_offsets() -> None:
    with pytest.raises(ValueError, match="request 0 has no offset"):
        open_loop([request(0)], None)

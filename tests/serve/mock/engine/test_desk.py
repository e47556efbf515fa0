"""Slots and cadences without a network: what is due when, exactly."""

from typing import Any

import numpy as np
import pytest

from whichbits.serve.mock.engine.desk import Desk
from whichbits.serve.mock.faults import NO_FAULTS
from whichbits.serve.mock.messages.asked import Body, Wire
from whichbits.serve.mock.messages.stream import Stream
from whichbits.serve.mock.settings import MockSettings

MS = 1_000_000
WIRE = Wire("POST", "/v1/completions", {}, b"", 0)


class Clock:
    """Time that passes by hand, a microsecond between two looks."""

    def __init__(self) -> None:
        self.now_ns = 1_000 * MS

    def monotonic_ns(self) -> int:
        self.now_ns += 1000
        return self.now_ns


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in ("engine.desk", "engine.cadence", "messages.stream"):
        monkeypatch.setattr(f"whichbits.serve.mock.{module}.time", made)
    return made


class Nobody:
    """A connection to nobody."""

    def write(self, data: bytes) -> None:
        pass

    def answered(self, stream: Stream) -> None:
        pass


def played(clock: Clock, tokens: tuple[int, ...], **options: Any) -> list[Stream]:
    """Take requests of so many tokens all at once, and serve them to their end."""
    desk = Desk(MockSettings(**{"ttft_ms": 5} | options))
    streams = [
        desk.take(Nobody(), *desk.number(), WIRE, Body(prompt=[1], max_tokens=each, stream=True)) for each in tokens
    ]
    desk.admit()
    while (due_ns := desk.clockwork.next_ns()) is not None:
        clock.now_ns = max(clock.now_ns, due_ns)
        desk.clockwork.send_due()
    assert not desk.running
    assert [stream.outcome for stream in streams] == ["done"] * len(streams)
    return streams


def gaps_ms(stream: Stream) -> list[float]:
    return [gap / MS for gap in np.diff(stream.due_ns).tolist()]


def test_streams_of_a_spread_cadence_have_phases_of_their_own(clock: Clock) -> None:
    streams = played(clock, (4,) * 5, itl_ms=10, ttft_ms=0)

    # Golden ratio: the phases of five streams are 0, 0.62, 0.24, 0.85 and 0.47 of a gap.
    phases = [(stream.due_ns[0] - (stream.admitted_ns or 0)) / (10 * MS) for stream in streams]
    assert phases == pytest.approx([0, 0.618, 0.236, 0.854, 0.472], abs=0.001)
    assert [gaps_ms(stream) for stream in streams] == [[10] * 3] * 5


def test_all_streams_of_a_step_are_due_at_one_instant(clock: Clock) -> None:
    first, *others = played(clock, (6,) * 4, cadence="steps", itl_ms=3)

    # Who was admitted a moment after the first has its first token a step later.
    assert all(stream.due_ns[:5] == first.due_ns[1:] for stream in others)
    assert first.due_ns[0] == (first.admitted_ns or 0) + 5 * MS


def test_a_step_is_as_long_as_those_make_it_who_run_when_it_begins(clock: Clock) -> None:
    short, long = played(clock, (2, 4), cadence="steps", itl_ms=4, itl_per_running_ms=3)

    # Two run until the short one's second token, which is the long one's first; from then on it is alone.
    assert gaps_ms(short) == [10]
    assert gaps_ms(long) == [7, 7, 7]
    assert long.due_ns[0] == short.due_ns[1]


def test_a_gap_of_a_spread_stream_grows_with_the_batch_as_well(clock: Clock) -> None:
    first, second = played(clock, (3, 9), itl_ms=4, itl_per_running_ms=3)

    assert gaps_ms(first) == [10, 10]
    assert gaps_ms(second)[0] == 10
    assert gaps_ms(second)[-1] == 7


def test_who_waits_for_a_slot_is_admitted_in_order(clock: Clock) -> None:
    streams = played(clock, (2, 2, 2, 2), slots=2, itl_ms=1, cadence="steps")

    admitted = [stream.admitted_ns or 0 for stream in streams]
    assert admitted == sorted(admitted)
    assert admitted[2] >= min(streams[0].sent_ns[-1], streams[1].sent_ns[-1])


def test_those_who_leave_free_their_slots_and_are_not_waited_for() -> None:
    desk = Desk(MockSettings(slots=1, ttft_ms=0, itl_ms=1))
    number, _ = desk.number()
    body = Body(prompt=[1], max_tokens=50, stream=True)
    running, waiting, last = (desk.take(Nobody(), number + place, NO_FAULTS, WIRE, body) for place in range(3))
    desk.admit()
    assert list(desk.running.values()) == [running]

    desk.left(waiting)
    assert list(desk.running.values()) == [running]
    desk.left(running)
    desk.left(running)
    assert list(desk.running.values()) == [last]
    assert desk.counted["finished abort"] == 2

"""Sessions: each prompt begins with the one before, turns wait for answers, and counts are exact."""

from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traffic.studies import planned, study
from whichbits.traffic.plan import plan_warm_up
from whichbits.traffic.request import last_due_s

CHAT = {"kind": "sessions", "turns": 3, "first_tokens": 10, "input_tokens": 4, "output_tokens": 6, "shared_tokens": 8}


def test_a_prompt_is_the_one_before_its_planned_answer_and_new_input() -> None:
    requests = planned(CHAT, 6)

    assert [len(request.prompt) for request in requests] == [18, 18 + 6 + 4, 28 + 6 + 4] * 2
    assert [request.follows for request in requests] == [None, 0, 1, None, 3, 4]
    for request in requests:
        if request.follows is not None:
            before = requests[request.follows].prompt
            assert request.prompt[: len(before)] == before
    assert len({request.prompt[:8] for request in requests}) == 1
    assert len({request.prompt[8:18] for request in requests}) == 2


@settings(deadline=None)
@given(
    count=st.integers(1, 120),
    turns=st.integers(1, 9),
    ratio=st.floats(0, 0.9),
    kind=st.sampled_from(["constant", "exponential", "log_normal"]),
)
def test_counts_are_exact_and_turns_follow_the_one_before(count: int, turns: int, ratio: float, kind: str) -> None:
    if turns * (1 - ratio) < 0.5:
        return
    requests = planned(
        {"kind": "sessions", "turns": turns, "range_ratio": ratio, "think": kind, "first_tokens": 3, "input_tokens": 2},
        count,
    )

    assert [request.index for request in requests] == list(range(count))
    assert all(request.follows in (None, request.index - 1) for request in requests)
    assert all((request.think_ns == 0) or request.follows is not None for request in requests)


@pytest.mark.parametrize("think", ["constant", "exponential", "log_normal"])
def test_think_times_have_their_mean(think: str) -> None:
    traffic = CHAT | {"think": think, "think_seconds": 2.0, "think_sigma": 0.7}
    times = [request.think_ns / 1e9 for request in planned(traffic, 6000) if request.follows is not None]

    assert mean(times) == pytest.approx(2, rel=0.05)
    assert (len(set(times)) == 1) == (think == "constant")


def test_sessions_begin_at_the_rate_that_makes_their_requests_the_load() -> None:
    requests = planned(CHAT, 3000, rate=30)
    begins = [request.offset_ns for request in requests if request.offset_ns is not None]

    assert len(begins) == 1000
    assert begins[-1] / 1e9 == pytest.approx(100, rel=0.1)
    assert all((request.offset_ns is None) == (request.follows is not None) for request in requests)


def test_the_last_turn_is_due_after_all_thinking() -> None:
    requests = planned(CHAT | {"think": "constant", "think_seconds": 5.0}, 3, rate=3)

    assert last_due_s(requests) == pytest.approx((requests[0].offset_ns or 0) / 1e9 + 10)


def test_a_warm_up_does_not_wait_for_anybody_to_think() -> None:
    warm = plan_warm_up(study(CHAT), 0)

    assert {(request.follows, request.think_ns) for request in warm} == {(None, 0)}


def test_repeats_think_as_long_and_have_other_ids() -> None:
    first, again = planned(CHAT, 9), planned(CHAT, 9, repeat=1)

    assert [request.think_ns for request in first] == [request.think_ns for request in again]
    assert first[0].prompt[:8] != again[0].prompt[:8]


def test_a_system_prompt_is_shared_by_all_requests_of_a_cell_and_by_no_other_cell() -> None:
    traffic = {"kind": "shared_prompt", "shared_tokens": 40, "input_tokens": 10, "range_ratio": 0.2}
    first, again = planned(traffic, 30), planned(traffic, 30, repeat=1)

    assert len({request.prompt[:40] for request in first}) == 1
    assert {request.prefix for request in first} == {0}
    assert {len(request.prompt) for request in first} <= set(range(48, 53))
    assert first[0].prompt[:40] != again[0].prompt[:40]

"""GPUs that replicas share: equal parts of their time, by hand and against slices dealt out one by one."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.predict.paces import simple_pace
from whichbits.predict.simulation.cards import Cards, Placing
from whichbits.predict.simulation.pace import Idle, Pace
from whichbits.predict.simulation.scheduler import Limits
from whichbits.predict.simulation.simulate import Fleet, Played, Server, play
from whichbits.predict.simulation.timelines import records_of
from whichbits.predict.simulation.workload import Workload

SLICE_S = 0.002


def ends(placing: Placing, works: list[tuple[float, float]]) -> list[float]:
    """Play works, each replica's (begin, seconds of GPU), to their ends."""
    cards, found, running = Cards(placing), dict[int, float](), dict[int, float]()
    coming = sorted((begin, at) for at, (begin, _) in enumerate(works))
    while coming or running:
        first = min(running, key=lambda at: (running[at], at)) if running else -1
        if coming and (not running or coming[0][0] <= running[first]):
            now, at = coming.pop(0)
            running[at] = cards.begin(at, now, works[at][1])
        else:
            found[first] = running.pop(first)
            cards.end(first, found[first])
        for moved in cards.take_moved():
            running[moved] = cards.end_of(moved)
    return [found[at] for at in range(len(works))]


def dealt(works: list[tuple[float, float]]) -> list[float]:
    """One GPU by the slice: whoever has work gets the next in turn."""
    left, found, now = [seconds for _, seconds in works], [0.0] * len(works), 0.0
    while any(seconds > 0 for seconds in left):
        there = [at for at, (begin, _) in enumerate(works) if begin <= now and left[at] > 0]
        for at in there:
            now += SLICE_S
            left[at] -= SLICE_S
            found[at] = now
        now += 0.0 if there else SLICE_S
    return found


def test_two_works_on_one_gpu_by_hand() -> None:
    """From 1 to 5 each gets half: 2 s for the second, which ends; the first then has 1 s left of its 4."""
    assert ends([(0,), (0,)], [(0.0, 4.0), (1.0, 2.0)]) == [6.0, 5.0]


def test_works_on_gpus_of_their_own_do_not_meet() -> None:
    assert ends([(0,), (1,)], [(0.0, 4.0), (1.0, 2.0)]) == [4.0, 3.0]


def test_a_work_on_two_gpus_goes_as_fast_as_on_the_fuller() -> None:
    """On 0 and 1; the second shares 0 for 2 s, the third has 2 alone. So 1 s of the first is done at 2, all at 4."""
    assert ends([(0, 1), (0,), (2,)], [(0.0, 3.0), (0.0, 1.0), (0.0, 5.0)]) == [4.0, 2.0, 5.0]


@settings(max_examples=50, deadline=None)
@given(works=st.lists(st.tuples(st.floats(0, 0.5), st.floats(0.01, 0.5)), min_size=1, max_size=4))
def test_equal_parts_are_what_short_slices_in_turn_come_to(works: list[tuple[float, float]]) -> None:
    assert ends([(0,)] * len(works), works) == pytest.approx(dealt(works), abs=8 * SLICE_S)


def with_idle(share: float) -> Pace:
    """Return a pace of whose steps the GPU waits for the host for a share."""
    pace = simple_pace()
    return replace(
        pace,
        idle=Idle(
            [share * seconds for seconds in pace.decode],
            [share * seconds for seconds in pace.mixed],
            [share * seconds for seconds in pace.head],
        ),
    )


def played(pace: Pace, work: Workload, concurrency: int, placing: Placing | None) -> Played:
    return play(Fleet(Server(pace, Limits(64, 8), 1000), 2, placing=placing), work, concurrency, keep_steps=True)


def requests(count: int, prompt: int = 40, output: int = 12) -> Workload:
    return Workload(range(count), [prompt] * count, [output] * count, [-1] * count, 0, None)


def token_times(found: Played) -> list[float]:
    return [ns / 1e9 for record in records_of(found, 0.0, simple_pace().token_out) for ns in record.chunk_ns]


@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.tuples(st.integers(1, 90), st.integers(1, 60)), min_size=1, max_size=8))
def test_who_is_alone_on_a_shared_gpu_is_as_fast_as_on_its_own(lengths: list[tuple[int, int]]) -> None:
    count = len(lengths)
    work = Workload(range(count), [p for p, _ in lengths], [o for _, o in lengths], [-1] * count, 0, None)
    shared, own = (played(with_idle(0.3), work, 1, placing) for placing in ([(0,), (0,)], None))
    assert token_times(shared) == pytest.approx(token_times(own), abs=1e-6)


def test_steps_that_keep_the_gpu_busy_take_twice_as_long_where_two_share_it() -> None:
    shared, own = (played(with_idle(0.0), requests(2), 2, placing) for placing in ([(0,), (0,)], None))
    steps = [(last - first) for last, first in zip(own.last_s, own.first_s, strict=True)]
    assert max(shared.last_s) - min(shared.first_s) == pytest.approx(2 * max(steps), rel=0.02)


def test_steps_that_are_all_host_do_not_slow_each_other() -> None:
    """But for attention, 3 us for each of 40 to 52 tokens in the cache, which is the GPU's."""
    shared, own = (played(with_idle(1.0), requests(2), 2, placing) for placing in ([(0,), (0,)], None))
    assert list(shared.last_s) == pytest.approx(list(own.last_s), rel=0.02)
    assert list(shared.last_s) != list(own.last_s)


def test_a_gpu_that_two_share_serves_no_more_than_one_replica_does_where_it_is_the_limit() -> None:
    """Pure prefill of equal prompts, one token each: the GPU's seconds are the same whoever asks for them."""
    work = requests(60, prompt=64, output=1)
    shared = played(with_idle(0.0), work, 8, [(0,), (0,)])
    single = play(Fleet(Server(simple_pace(), Limits(64, 8), 1000)), work, 8)
    assert max(shared.last_s) == pytest.approx(max(single.last_s), rel=0.03)

"""The fast engine against one that takes every step, token and block by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.predict.paces import simple_pace
from tests.predict.stepwise import Pool, Stepwise
from whichbits.predict.simulation.scheduler import Limits
from whichbits.predict.simulation.simulate import Fleet, Played, Server, play
from whichbits.predict.simulation.timelines import records_of
from whichbits.predict.simulation.workload import Workload

BLOCK = 16


def workload(prompts: list[int], outputs: list[int], prefixes: list[int] | None = None, tokens: int = 0) -> Workload:
    count = len(prompts)
    return Workload(range(count), prompts, outputs, prefixes or [-1] * count, tokens, None)


def both(
    work: Workload, concurrency: int, blocks: int, limits: Limits, *, remembers: bool = False
) -> tuple[Played, list[list[float]], Stepwise]:
    pace = simple_pace()
    fleet = Fleet(Server(pace, limits, blocks, BLOCK, remembers))
    played = play(fleet, work, concurrency, keep_steps=True)
    times = [[ns / 1e9 for ns in record.chunk_ns] for record in records_of(played, 0.0, pace.token_out)]
    oracle = Stepwise(pace, limits, Pool(blocks, remembers), BLOCK, work=work, concurrency=concurrency)
    oracle.play()
    return played, times, oracle


def assert_alike(times: list[list[float]], oracle: Stepwise) -> None:
    for mine, theirs in zip(times, oracle.times, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-6)


lengths = st.integers(1, 90)


@settings(max_examples=60, deadline=None)
@given(
    requests=st.lists(st.tuples(lengths, lengths), min_size=1, max_size=14),
    concurrency=st.integers(1, 8),
    budget=st.integers(10, 200),
    ahead=st.booleans(),
)
def test_every_token_comes_when_it_would_step_by_step(
    requests: list[tuple[int, int]], concurrency: int, budget: int, ahead: bool
) -> None:
    work = workload([prompt for prompt, _ in requests], [output for _, output in requests])
    _, times, oracle = both(work, concurrency, 1000, Limits(budget, 6, schedules_ahead=ahead))
    assert_alike(times, oracle)


@settings(max_examples=60, deadline=None)
@given(
    requests=st.lists(st.tuples(lengths, lengths), min_size=4, max_size=14),
    concurrency=st.integers(3, 10),
    blocks=st.integers(12, 30),
    ahead=st.booleans(),
)
def test_preempted_requests_lose_and_regain_their_place_step_by_step(
    requests: list[tuple[int, int]], concurrency: int, blocks: int, ahead: bool
) -> None:
    work = workload([prompt for prompt, _ in requests], [output for _, output in requests])
    played, times, oracle = both(work, concurrency, blocks, Limits(64, 10, schedules_ahead=ahead))
    assert played.preemptions == oracle.preemptions
    assert_alike(times, oracle)


@settings(max_examples=60, deadline=None)
@given(
    prefixes=st.lists(st.integers(0, 5), min_size=4, max_size=30),
    blocks=st.integers(40, 120),
    concurrency=st.integers(1, 4),
    ahead=st.booleans(),
)
def test_a_prefix_is_found_or_forgotten_block_by_block(
    prefixes: list[int], blocks: int, concurrency: int, ahead: bool
) -> None:
    own = [5 + 7 * at % 40 for at in range(len(prefixes))]
    work = workload([96 + tokens for tokens in own], [3 + at % 20 for at in range(len(prefixes))], prefixes, 96)
    played, times, oracle = both(work, concurrency, blocks, Limits(64, 8, schedules_ahead=ahead), remembers=True)
    assert list(played.cached_tokens) == oracle.cached
    assert_alike(times, oracle)


def test_one_request_by_hand() -> None:
    """In: 0.5 + 3 ms. Prefill: 12 + 1 + 0.2 ms and 50 pairs of 0.1 us. Then 10.3 ms and 3 us a token of 11 and 12."""
    played, times, _ = both(workload([10], [3]), 1, 100, Limits(64, 8))
    first = 0.0035 + 0.0132 + 10 * 5 * 1e-7
    second = first + 0.0103 + 11 * 3e-6
    third = second + 0.0103 + 12 * 3e-6
    assert times[0] == pytest.approx([first + 0.001, second + 0.001, third + 0.001])
    assert played.sent_s[0] == 0


def test_who_comes_while_a_step_runs_joins_the_one_after_next_if_steps_are_chosen_ahead() -> None:
    """The second request comes 0.5 ms after the first, in the first one's prefill, and waits for a decode step more."""
    work = workload([10, 10], [9, 3])
    _, now, _ = both(work, 2, 100, Limits(64, 8))
    _, later, _ = both(work, 2, 100, Limits(64, 8, schedules_ahead=True))
    assert later[1][0] - now[1][0] == pytest.approx(0.0103 + 11 * 3e-6 + 3e-6)


def test_the_cache_is_whole_again_when_all_is_over() -> None:
    """What was taken is given back, in shared, own and preempted runs alike."""
    from whichbits.predict.simulation.simulate import new_pools

    work = workload([120] * 30, [40] * 30, [at % 4 for at in range(30)], 96)
    fleet = Fleet(Server(simple_pace(), Limits(64, 8), 40, BLOCK, prefix_caching=True))
    pools = new_pools(fleet, work)
    played = play(fleet, work, 8, pools)
    assert played.preemptions > 0
    assert pools[0].free == 40


def test_a_front_end_that_falls_behind_delays_all_that_is_seen() -> None:
    """Eight tokens a step at 5 ms each take 40 ms, the step some 12: the answers come no faster than 200 a second."""
    work = workload([10] * 40, [50] * 40)
    fleet = Fleet(Server(simple_pace(token_turn=0.005), Limits(256, 64), 1000))
    played = play(fleet, work, 8)
    seconds = max(played.last_s)
    assert 40 * 50 / seconds == pytest.approx(200, rel=0.05)

"""A day that forgets its requests, against the same requests kept; tallies against sorting."""

import numpy as np
import pytest

from tests.predict.paces import simple_pace
from whichbits.predict.simulation.routers import LeastOutstanding
from whichbits.predict.simulation.scheduler import Limits
from whichbits.predict.simulation.simulate import Fleet, Server, play
from whichbits.predict.simulation.stream import STREAM_ROUTERS, Arrival, play_day
from whichbits.predict.simulation.tally import Tally
from whichbits.predict.simulation.workload import Workload
from whichbits.traffic.draws import Draws

SERVER = Server(simple_pace(), Limits(256, 16, schedules_ahead=True), 2000)


def arrivals(count: int, rate: float) -> list[Arrival]:
    draws = Draws(0, "stream")
    times = np.cumsum(draws.exponential(count) / rate).tolist()
    sizes = (draws.integers(1, high, count).tolist() for high in (80, 40))
    return list(zip(times, *sizes, [-1] * count, strict=True))


@pytest.mark.parametrize("balance", ["round_robin", "least_outstanding", "connection_random"])
def test_a_forgetful_day_waits_as_long_as_one_that_remembers(balance: str) -> None:
    asked = arrivals(600, 60.0)
    fleet = Fleet(SERVER, 3, balance)
    day = play_day(fleet, iter(asked))
    times, prompts, outputs, _ = (list(column) for column in zip(*asked, strict=True))
    work = Workload(range(600), prompts, outputs, [-1] * 600, 0, times)
    played = play(fleet, work, None)
    ttft = (np.array(played.first_s) - np.array(times)) * 1e3
    e2e = (np.array(played.last_s) - np.array(times)) * 1e3
    for tally, waited in ((day.ttft_ms, ttft), (day.e2e_ms, e2e)):
        assert tally.total == 600
        for percent in (1, 50, 99):
            kept = np.percentile(waited, percent, method="inverted_cdf")
            assert tally.percentile(percent) == pytest.approx(kept, rel=0.006)
    assert day.output_tokens == sum(outputs)
    assert day.tpot_ms.total == sum(output > 1 for output in outputs)


def test_slots_are_as_many_as_requests_in_flight_however_long_the_day() -> None:
    most = [play_day(Fleet(SERVER, 3), iter(arrivals(count, 40.0))).most_in_flight for count in (500, 5000)]
    assert most[1] < 2 * most[0]


def test_a_fleet_that_takes_turns_may_be_played_in_parts() -> None:
    asked = arrivals(400, 60.0)
    whole = play_day(Fleet(SERVER, 4), iter(asked))
    parts = [play_day(Fleet(SERVER, 2), iter(asked[at::2])) for at in range(2)]
    parts[0].merge(parts[1])
    assert np.array_equal(parts[0].ttft_ms.counts, whole.ttft_ms.counts)
    assert parts[0].output_tokens == whole.output_tokens


def test_a_tally_of_nothing_knows_nothing_and_takes_any_time() -> None:
    tally = Tally()
    assert tally.percentile(50) is None
    for ms in (0.0, 1e12):
        tally.add(ms)
    assert tally.total == 2


def test_the_fewest_outstanding_are_found_in_turn() -> None:
    """Against looking at every replica, over a thousand sends and ends in no order."""
    router, counts, turn = LeastOutstanding(7), [0] * 7, 0
    draws = Draws(0, "least")
    for sends, ends in zip(draws.integers(0, 2, 1000).tolist(), draws.integers(0, 7, 1000).tolist(), strict=True):
        if sends:
            wanted = min(((turn + step) % 7 for step in range(7)), key=lambda at: counts[at])
            assert router.choose(0) == wanted
            counts[wanted] += 1
            turn = (wanted + 1) % 7
        elif counts[ends]:
            counts[ends] -= 1
            router.ended(ends)


@pytest.mark.parametrize("balance", STREAM_ROUTERS)
def test_shared_prefixes_are_found_in_a_day_as_in_a_cell(balance: str) -> None:
    """Forty prefixes of 96 tokens, more than a cache holds: hits and times of the day against those of a whole play.

    Where each choice hangs on the balance's own draws or hashes, only what must come out alike is compared.
    """
    prefixes = Draws(0, "prefixes").integers(0, 40, 600).tolist()
    asked = [(at, prompt + 96, output, prefixes[n]) for n, (at, prompt, output, _) in enumerate(arrivals(600, 60.0))]
    fleet = Fleet(Server(simple_pace(), Limits(256, 16), 120, prefix_caching=True), 3, balance)
    day = play_day(fleet, iter(asked), 96)
    times, prompts, outputs, shared = (list(column) for column in zip(*asked, strict=True))
    played = play(fleet, Workload(range(600), prompts, outputs, shared, 96, times, [(each,) for each in shared]), None)
    assert day.prompt_tokens == sum(prompts)
    assert 0 < day.cached_tokens < day.prompt_tokens
    if balance == "random":
        assert day.cached_tokens == pytest.approx(sum(played.cached_tokens), rel=0.2)
    else:
        assert day.cached_tokens == sum(played.cached_tokens)


def test_a_home_for_every_prefix_finds_more_of_them() -> None:
    prefixes = Draws(0, "prefixes").integers(0, 40, 600).tolist()
    asked = [(at, prompt + 96, output, prefixes[n]) for n, (at, prompt, output, _) in enumerate(arrivals(600, 30.0))]
    server = Server(simple_pace(), Limits(256, 16), 120, prefix_caching=True)
    homes, turns = (play_day(Fleet(server, 3, balance), iter(asked), 96) for balance in ("prefix_hash", "round_robin"))
    assert homes.cached_tokens > 1.3 * turns.cached_tokens


def test_a_slot_that_is_used_again_finds_nothing_of_who_was_there_before() -> None:
    """One request after the other, and the next one that is to come: two slots, and nothing that is shared."""
    asked = [(float(at), 64, 4, -1) for at in range(20)]
    day = play_day(Fleet(Server(simple_pace(), Limits(256, 16), 2000, prefix_caching=True)), iter(asked))
    assert day.most_in_flight == 2
    assert day.cached_tokens == 0


@pytest.mark.parametrize("balance", STREAM_ROUTERS)
def test_a_day_in_two_stretches_of_time_is_the_day(balance: str) -> None:
    """The second begins with the last 200 arrivals of the first, which it does not count."""
    asked = arrivals(4000, 60.0)
    fleet = Fleet(SERVER, 3, balance)
    whole = play_day(fleet, iter(asked))
    first = play_day(fleet, iter(asked[:2000]))
    first.merge(play_day(fleet, iter(asked[1800:]), counted_from_s=asked[2000][0]))
    assert first.ttft_ms.total == 4000
    assert first.output_tokens == whole.output_tokens
    for percent in (50, 90):
        assert first.ttft_ms.percentile(percent) == pytest.approx(whole.ttft_ms.percentile(percent), rel=0.05)
        assert first.e2e_ms.percentile(percent) == pytest.approx(whole.e2e_ms.percentile(percent), rel=0.05)

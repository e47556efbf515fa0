"""Clients and routers in virtual time."""

import pytest

from tests.predict.paces import simple_pace
from whichbits.drive.routing import Route
from whichbits.drive.routing import rendezvous as drive_rendezvous
from whichbits.predict.routers import ROUTERS, rendezvous
from whichbits.predict.scheduler import Limits
from whichbits.predict.simulate import Fleet, Played, Server, play
from whichbits.predict.workload import Workload
from whichbits.study.arm import Balance
from whichbits.study.drawn_traffic import PrefixRepetitionTraffic
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import plan_cell

SERVER = Server(simple_pace(), Limits(256, 16), 2000)


def fifty(offsets: list[float] | None = None) -> Workload:
    return Workload(range(50), [20] * 50, [10 + at % 7 for at in range(50)], [-1] * 50, 0, offsets)


def most_at_once(played: Played, which: int | None = None) -> int:
    chosen = [at for at in range(50) if which in (None, played.replica[at])]
    starts = [played.sent_s[at] for at in chosen]
    return max(sum(s <= t < played.last_s[at] for at, s in zip(chosen, starts, strict=True)) for t in starts)


def test_a_closed_loop_keeps_its_streams_busy() -> None:
    played = play(Fleet(SERVER), fifty(), 5)
    assert most_at_once(played) == 5
    assert sorted(played.sent_s)[5:] == pytest.approx(sorted(played.last_s)[:45])


def test_an_open_loop_sends_at_its_offsets() -> None:
    offsets = [at * 0.004 for at in range(50)]
    played = play(Fleet(SERVER), fifty(offsets), None)
    assert list(played.sent_s) == offsets
    assert most_at_once(played) > 5


def test_under_a_cap_requests_wait_and_the_wait_is_theirs() -> None:
    offsets = [at * 0.004 for at in range(50)]
    played = play(Fleet(SERVER), fifty(offsets), 5)
    assert most_at_once(played) == 5
    assert list(played.scheduled_s) == offsets
    assert all(sent >= offset for sent, offset in zip(played.sent_s, offsets, strict=True))
    assert played.sent_s[49] > offsets[49]


@pytest.mark.parametrize("balance", ROUTERS)
def test_every_policy_serves_all_requests(balance: str) -> None:
    work = Workload(range(50), [20] * 50, [5] * 50, [-1] * 50, 0, None, [(at % 9, 1) for at in range(50)])
    played = play(Fleet(SERVER, 3, balance, seed=1), work, 9)
    assert set(played.replica) == {0, 1, 2}
    assert all(last > first for first, last in zip(played.first_s, played.last_s, strict=True))


def test_least_outstanding_keeps_replicas_even() -> None:
    played = play(Fleet(SERVER, 3, "least_outstanding"), fifty(), 9)
    assert [most_at_once(played, which) for which in range(3)] == [3, 3, 3]


def test_a_connection_stays_with_its_replica() -> None:
    """Nine streams open nine connections, so that nine requests at most choose a replica."""
    played = play(Fleet(SERVER, 2, "connection_random", seed=4), fifty(), 9)
    first_nine = [played.replica[at] for at in range(9)]
    assert 0 < sum(first_nine) < 9
    assert [most_at_once(played, which) for which in range(2)] == [first_nine.count(0), first_nine.count(1)]


def test_rendezvous_finds_the_home_that_the_driver_finds() -> None:
    for prefix in ((1, 2, 3), (4,), tuple(range(64))):
        assert rendezvous(prefix, 5) == drive_rendezvous(prefix, 5)


@pytest.mark.parametrize("balance", ["round_robin", "random", "prefix_hash"])
def test_settled_routes_are_those_of_the_driver(balance: Balance, prefix_study: Study) -> None:
    planned = plan_cell(prefix_study, Load(concurrency=4), 0)
    work = Workload.of(planned, 128)
    router = ROUTERS[balance](work, 3, 7)
    theirs = Route(balance, 7).router(3, planned)
    mine = [router.choose(at) for at in range(len(work))]
    assert mine == [theirs.lane(request) for request in planned]


@pytest.fixture
def prefix_study() -> Study:
    return Study.model_validate(
        {
            "name": "prefixes",
            "arms": {"one": {"weight_format": "bf16", "model": "qwen3-8b"}},
            "traffic": PrefixRepetitionTraffic(kind="prefix_repetition", prefix_tokens=128, prefixes=6),
            "loads": [4],
            "cell": {"requests": 24},
        }
    )

"""Clients and routers in virtual time."""

import numpy as np
import pytest

from tests.predict.paces import simple_pace
from whichbits.drive.routing import Route
from whichbits.drive.routing import rendezvous as drive_rendezvous
from whichbits.predict.simulation.routers import ROUTERS, rendezvous
from whichbits.predict.simulation.scheduler import Limits
from whichbits.predict.simulation.simulate import Fleet, Played, Server, play
from whichbits.predict.simulation.workload import Workload
from whichbits.study.arm import Balance
from whichbits.study.drawn_traffic import PrefixRepetitionTraffic
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import plan_cell
from whichbits.traffic.request import PlannedRequest

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


def sessions(turns: int, offset_ns: int | None, think_ns: int) -> list[PlannedRequest]:
    """Four sessions, whose prompts grow by 32 tokens a turn."""
    planned: list[PlannedRequest] = []
    for session in range(4):
        for turn in range(turns):
            index = len(planned)
            prompt = tuple(range(1000 * session, 1000 * session + 32 * (turn + 1)))
            due = None if offset_ns is None or turn else offset_ns * session
            before = index - 1 if turn else None
            planned.append(PlannedRequest(index, prompt, 5, due, follows=before, think_ns=think_ns if turn else 0))
    return planned


@pytest.mark.parametrize(("offset_ns", "concurrency"), [(None, 2), (4_000_000, None), (4_000_000, 2)])
@pytest.mark.parametrize("think_s", [0.0, 0.5])
def test_a_turn_leaves_when_the_one_before_has_ended_and_been_thought_about(
    offset_ns: int | None, concurrency: int | None, think_s: float
) -> None:
    work = Workload.of(sessions(3, offset_ns, round(think_s * 1e9)))
    played = play(Fleet(SERVER), work, concurrency)
    assert not np.isnan(played.last_s).any()
    for turn, before in enumerate(work.follows):
        if before >= 0:
            assert played.scheduled_s[turn] == pytest.approx(played.last_s[before] + think_s)
            assert played.sent_s[turn] >= played.scheduled_s[turn]
            if concurrency is None or offset_ns is None:
                assert played.sent_s[turn] == pytest.approx(played.scheduled_s[turn])


def test_a_stream_stays_with_its_session() -> None:
    """Two streams, four sessions of three turns: the third session begins when one of the first two is over."""
    work = Workload.of(sessions(3, None, 0))
    played = play(Fleet(SERVER), work, 2)
    last_turns = [turn for turn in range(len(work)) if turn not in work.follows]
    ends = sorted(played.last_s[turn] for turn in last_turns)
    begun = sorted(played.sent_s[: work.beginnings])
    assert begun[:2] == [0, 0]
    assert begun[2:] == pytest.approx(ends[:2])


def test_a_turn_finds_its_session_s_prompt_in_the_cache_and_not_the_answer() -> None:
    """Prompts of 32, 64 and 96 tokens in blocks of 16: 2 and 4 blocks are found, whatever was answered."""
    work = Workload.of(sessions(3, None, 0))
    played = play(Fleet(SERVER), work, 2)
    found = {work.prompt_tokens[at]: played.cached_tokens[at] for at in range(len(work))}
    assert found == {32: 0, 64: 32, 96: 64}

"""A cell is dealt so that all workers together are one client."""

from dataclasses import replace

import pytest

from whichbits.drive.crew.packed import PackedPlan
from whichbits.drive.crew.split import deal, route_of, shares, split_notes, workers_for
from whichbits.drive.routing import Route
from whichbits.study.model import Load
from whichbits.traffic.plan import PlannedRequest

EVEN = Route("round_robin")


def plan(count: int) -> list[PlannedRequest]:
    return [PlannedRequest(index, (1, 2), 4, None) for index in range(count)]


def dealt(planned: list[PlannedRequest], workers: int) -> list[list[int]]:
    return [[request.index for request in hand] for hand in deal(planned, workers)]


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(8)))


def test_requests_are_dealt_in_turn() -> None:
    assert dealt(plan(7), 3) == [[0, 3, 6], [1, 4], [2, 5]]
    assert dealt(plan(3), 1) == [[0, 1, 2]]


def test_a_session_is_not_split() -> None:
    """Sessions 0-2-4, 1 and 3-5: each stays whole, and sessions take turns."""
    planned = plan(6)
    for turn, before in ((2, 0), (4, 2), (5, 3)):
        planned[turn] = replace(planned[turn], follows=before)

    assert dealt(planned, 2) == [[0, 2, 3, 4, 5], [1]]
    assert dealt(planned, 3) == [[0, 2, 4], [1], [3, 5]]
    assert dealt(planned[::-1], 3) == [[5, 3], [4, 2, 0], [1]]


@pytest.mark.parametrize(
    ("whole", "workers", "expected"), [(7, 3, [3, 2, 2]), (4, 4, [1] * 4), (None, 2, [None, None]), (512, 1, [512])]
)
def test_streams_are_shared_out_to_the_last(whole: int | None, workers: int, expected: list[int | None]) -> None:
    assert shares(whole, workers) == expected


@pytest.mark.parametrize(
    ("load", "workers"),
    [
        (Load(concurrency=1), 1),
        (Load(concurrency=512), 1),
        (Load(concurrency=513), 2),
        (Load(concurrency=2000), 4),
        (Load(concurrency=10_000), 7),
        (Load(request_rate=500), 1),
        (Load(request_rate=1200), 3),
        (Load(request_rate=1200, concurrency=2), 2),
    ],
)
def test_auto_grows_with_the_load_and_leaves_a_core(load: Load, workers: int) -> None:
    assert workers_for(load, 20_000, "auto", EVEN) == workers


def test_on_one_core_there_is_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {3})

    assert workers_for(Load(concurrency=10_000), 20_000, "auto", EVEN) == 1


def test_no_worker_is_without_work() -> None:
    assert workers_for(Load(concurrency=3), 100, 8, EVEN) == 3
    assert workers_for(Load(concurrency=64), 5, 8, EVEN) == 5
    assert workers_for(Load(request_rate=9), 100, 8, EVEN) == 8


def test_who_must_know_all_requests_in_flight_is_alone_unless_told_otherwise() -> None:
    least = Route("least_outstanding")

    assert workers_for(Load(concurrency=10_000), 20_000, "auto", least) == 1
    assert workers_for(Load(concurrency=10_000), 20_000, 3, least) == 3
    assert split_notes(Load(concurrency=9), 3, least) == ["each of 3 workers balances by its own requests in flight"]


def test_a_split_cap_is_noted() -> None:
    assert split_notes(Load(request_rate=9, concurrency=8), 3, EVEN) == [
        "the cap of 8 is split over 3 workers: 3 + 3 + 2"
    ]
    assert split_notes(Load(request_rate=9, concurrency=8), 1, EVEN) == []
    assert split_notes(Load(concurrency=8), 3, EVEN) == []


@pytest.mark.parametrize("policy", ["round_robin", "random"])
def test_the_union_of_all_workers_routes_as_one_would(policy: str) -> None:
    route, planned = Route(policy, seed=5), plan(40)
    alone = route.router(3, planned)

    for number, hand in enumerate(deal(planned, 4)):
        router = route_of(route, number).router(3, hand)
        assert [router.lane(request) for request in hand] == [alone.lane(request) for request in hand]


def test_workers_draw_connections_of_their_own() -> None:
    route = Route("connection_random", seed=5)
    drawn = []
    for number in range(3):
        router = route_of(route, number).router(4, plan(9))
        drawn.append([router.target(0) for _ in range(30)])

    assert drawn[0] == [route.router(4, plan(9)).target(0), *drawn[0][1:]]
    assert drawn[0] != drawn[1]
    assert drawn[1] != drawn[2]


def test_a_packed_plan_is_the_plan() -> None:
    planned = [
        PlannedRequest(4, (5, 99_999, 5), 7, 12, prefix=2),
        PlannedRequest(9, (), 1, None, follows=4, think_ns=3),
        PlannedRequest(11, (0,), 1, 0),
    ]

    unpacked = PackedPlan.of(planned).unpacked()

    assert list(unpacked) == planned
    assert all(type(number) is int for request in unpacked for number in request.prompt)
    assert PackedPlan.of([]).unpacked() == ()

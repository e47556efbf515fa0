"""Who gets which request, policy by policy: by arithmetic, and against servers on loopback."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import pairwise, takewhile

import pytest
import uvloop

from tests.drive.fake_server import Answer, FakeServer, Received, eventually, serving, stream
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.routing import AVOID_SECONDS, ROUTERS, LeastOutstanding, Route, rendezvous
from whichbits.drive.target import Target
from whichbits.errors import BadInput
from whichbits.record.schema import RequestRecord
from whichbits.study.model import Limits, Load
from whichbits.traffic.plan import PlannedRequest

LIMITS = Limits(request_seconds=20, silence_seconds=20)
NAMES = "abcdefgh"


def plan(count: int, *, every_ms: float | None = None) -> list[PlannedRequest]:
    offsets = [None if every_ms is None else round(index * every_ms * 1e6) for index in range(count)]
    return [PlannedRequest(index, (1000 + index, 7, 7), 2, offset) for index, offset in enumerate(offsets)]


def lanes(route: Route, targets: int, planned: Sequence[PlannedRequest]) -> list[int]:
    router = route.router(targets, planned)
    return [router.lane(request) for request in planned]


def chi_square(counts: Counter[int], targets: int) -> float:
    expected = counts.total() / targets
    return sum((counts[target] - expected) ** 2 / expected for target in range(targets))


@asynccontextmanager
async def replicas(*answers: Answer) -> AsyncIterator[tuple[list[FakeServer], list[Target]]]:
    """One server an answer, named a, b, c and so on."""
    async with AsyncExitStack() as stack:
        fakes = [await stack.enter_async_context(serving(answer)) for answer in answers]
        yield fakes, [replace(fake.target, replica=name) for fake, name in zip(fakes, NAMES, strict=False)]


def served(capture: CellCapture) -> Counter[str | None]:
    return Counter(record.replica for record in capture.records)


def assert_the_records_tell_who_served(capture: CellCapture, fakes: Sequence[FakeServer]) -> None:
    """Replica by replica: the very requests that its server saw, each addressed to that server."""
    for fake, name in zip(fakes, NAMES, strict=False):
        seen = sorted(request.body["prompt"][0] - 1000 for request in fake.received)
        assert seen == [record.index for record in capture.records if record.replica == name]
        assert all(f"Host: 127.0.0.1:{fake.port}\r\n" in request.head for request in fake.received)


# Without servers


def test_round_robin_is_exact() -> None:
    assert lanes(Route(), 3, plan(8)) == [0, 1, 2, 0, 1, 2, 0, 1]


def test_random_is_even_but_for_chance() -> None:
    """3000 requests over 5 targets: chi-square with 4 degrees of freedom exceeds 18.47 once in 1000 seeds."""
    chosen = lanes(Route("random", seed=1), 5, plan(3000))

    assert 0 < chi_square(Counter(chosen), 5) < 18.47
    # Neighbours are independent: the target repeats about every fifth time (600 +- 22), never by rotation.
    repeats = sum(one == two for one, two in pairwise(chosen))
    assert 500 < repeats < 700


def test_a_requests_random_target_depends_on_seed_and_index_alone() -> None:
    chosen = lanes(Route("random", seed=3), 4, plan(50))

    assert lanes(Route("random", seed=3), 4, plan(50)) == chosen
    assert lanes(Route("random", seed=3), 4, plan(50)[20:]) == chosen[20:]
    assert lanes(Route("random", seed=4), 4, plan(50)) != chosen


def test_connections_are_spread_evenly_but_for_chance_and_the_same_way_each_time() -> None:
    draws = [Route("connection_random", seed=7).router(4, []).target for _ in range(2)]
    first, second = ([draw(0) for _ in range(2000)] for draw in draws)

    assert first == second
    assert 0 < chi_square(Counter(first), 4) < 16.27  # 3 degrees of freedom, once in 1000


def test_least_outstanding_takes_turns_among_equals_and_then_the_least() -> None:
    router = LeastOutstanding(3)
    (request,) = plan(1)

    assert [router.lane(request) for _ in range(6)] == [0, 1, 2, 0, 1, 2]
    router.ended(1, turned_away=False)
    router.ended(1, turned_away=False)
    router.ended(2, turned_away=False)
    # In flight now: 2, 0, 1. Target 1 is alone with none, then it ties with 2, whose turn it is.
    assert [router.lane(request) for _ in range(3)] == [1, 2, 1]


def test_a_target_that_turned_a_request_away_is_avoided_for_a_while_unless_all_did() -> None:
    now_ns = 0
    router = LeastOutstanding(2, clock_ns=lambda: now_ns)
    (request,) = plan(1)
    assert router.lane(request) == 0
    router.ended(0, turned_away=True)

    assert [router.lane(request) for _ in range(3)] == [1, 1, 1]
    router.ended(1, turned_away=True)
    assert router.lane(request) == 0
    now_ns = round(AVOID_SECONDS * 1e9)
    assert [router.lane(request) for _ in range(3)] == [0, 1, 0]


def test_one_prefix_stays_on_one_replica_and_prefixes_spread() -> None:
    """500 prefixes of 64 tokens, three requests each that differ behind the prefix."""
    prompts = [tuple(range(prefix, prefix + 64)) + (own,) * 9 for own in range(3) for prefix in range(500)]
    planned = [PlannedRequest(index, prompt, 2, None) for index, prompt in enumerate(prompts)]
    chosen = lanes(Route("prefix_hash"), 4, planned)

    assert chosen[:500] == chosen[500:1000] == chosen[1000:]
    assert chi_square(Counter(chosen[:500]), 4) < 16.27


def test_only_as_many_tokens_count_as_the_route_says() -> None:
    """With 3 tokens these are 1 prefix; with 4 they are 40, which no single replica gets all of."""
    planned = [PlannedRequest(index, (5, 6, 7, index), 2, None) for index in range(40)]

    assert len(set(lanes(Route("prefix_hash", prefix_tokens=3), 4, planned))) == 1
    assert len(set(lanes(Route("prefix_hash", prefix_tokens=4), 4, planned))) == 4


def test_another_replica_takes_prefixes_and_moves_no_others() -> None:
    before = [rendezvous((prefix, 1, 2), 3) for prefix in range(300)]
    after = [rendezvous((prefix, 1, 2), 4) for prefix in range(300)]

    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {3}
    assert 45 < len(moved) < 105  # a quarter of 300, four standard deviations either way


def test_a_policy_that_does_not_exist_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BadInput, match="least_outstandin'") as refusal:
        Route("least_outstandin")
    assert "'least_outstanding'" in refusal.value.why


def test_a_prefix_of_no_tokens_is_refused() -> None:
    with pytest.raises(BadInput, match="prefix_tokens is 0"):
        Route("prefix_hash", prefix_tokens=0)


# Against servers


@pytest.mark.parametrize("policy", ROUTERS)
@pytest.mark.parametrize("load", [Load(concurrency=5), Load(request_rate=500)], ids=["closed", "open"])
def test_every_policy_answers_all_and_names_who_served(policy: str, load: Load) -> None:
    """The connections opened in advance suffice: no request of a closed loop waits for a handshake."""

    async def main() -> None:
        async with replicas(*[stream(gap_s=0.002)] * 3) as (fakes, targets):
            capture = await drive_cell(targets, plan(30, every_ms=2), load, LIMITS, 0, route=Route(policy, seed=5))

        assert [record.error_code for record in capture.records] == [None] * 30
        assert_the_records_tell_who_served(capture, fakes)
        assert capture.late_connect_ns == {}

    uvloop.run(main())


def test_connections_stay_where_they_went() -> None:
    """Six streams keep six connections, spread as the seed says; a server without one gets no request."""
    draw = Route("connection_random", seed=2).router(4, []).target
    expected = Counter(NAMES[draw(0)] for _ in range(6))
    assert 1 < len(expected) < 4  # this seed leaves a server out

    async def main() -> None:
        async with replicas(*[stream(gap_s=0.001)] * 4) as (fakes, targets):
            route = Route("connection_random", seed=2)
            capture = await drive_cell(targets, plan(60), Load(concurrency=6), LIMITS, 0, route=route)

        assert {
            name: fake.connections for fake, name in zip(fakes, NAMES, strict=False) if fake.connections
        } == expected
        assert set(served(capture)) == set(expected)
        assert_the_records_tell_who_served(capture, fakes)

    uvloop.run(main())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_light_load_over_kept_connections_reaches_one_replica_only(seed: int) -> None:
    """The connection used last goes first: requests that never overlap never reach a second replica."""
    draw = Route("connection_random", seed=seed).router(3, []).target
    last_opened = [NAMES[draw(0)] for _ in range(8)][-1]

    async def main() -> None:
        async with replicas(*[stream()] * 3) as (fakes, targets):
            route = Route("connection_random", seed=seed)
            capture = await drive_cell(targets, plan(8, every_ms=120), Load(request_rate=8), LIMITS, 0, route=route)
            assert sum(fake.connections for fake in fakes) == 8

        # On a machine that stood still for a while, the rest may have been due at once.
        alone = list(takewhile(lambda record: is_alone(record, capture.records), capture.records))
        assert alone
        assert {record.replica for record in alone} == {last_opened}

    uvloop.run(main())


def is_alone(record: RequestRecord, records: Sequence[RequestRecord]) -> bool:
    """Whether all requests before it had ended when it was sent."""
    return all((before.finished_ns or 0) < (record.sent_ns or 0) for before in records[: record.index])


def test_least_outstanding_prefers_the_faster_server() -> None:
    """The slow one answers nobody before the other has had forty requests, two thirds of all."""

    async def slow(request: Received, writer: asyncio.StreamWriter) -> None:
        await eventually(lambda: len(fakes[1].received) >= 40)
        await stream()(request, writer)

    fakes: Sequence[FakeServer] = ()

    async def main() -> None:
        nonlocal fakes
        async with replicas(slow, stream()) as (fakes, targets):
            route = Route("least_outstanding")
            capture = await drive_cell(targets, plan(60), Load(concurrency=4), LIMITS, 0, route=route)

        assert served(capture)["b"] > 2 * served(capture)["a"]

    uvloop.run(main())


async def drive_and_kill_b(policy: str) -> CellCapture:
    """Forty requests by four streams over a and b; b dies once twenty have arrived."""
    async with replicas(*[stream(first_s=0.005)] * 2) as (fakes, targets):
        route = Route(policy, seed=1)
        driving = asyncio.ensure_future(drive_cell(targets, plan(40), Load(concurrency=4), LIMITS, 0, route=route))
        await eventually(lambda: sum(len(fake.received) for fake in fakes) >= 20)
        fakes[1].die()
        return await driving


def test_a_dead_replica_does_not_attract_least_outstanding() -> None:
    """What fails is in flight at the death, or was sent before the first refusal: one each stream at most."""
    capture = uvloop.run(drive_and_kill_b("least_outstanding"))

    failed = [record for record in capture.records if not record.succeeded]
    assert 1 <= len(failed) <= 4
    assert {record.replica for record in failed} == {"b"}
    assert served(capture).total() == 40


@pytest.mark.parametrize("policy", ["round_robin", "random"])
def test_other_policies_go_on_sending_to_a_dead_replica(policy: str) -> None:
    """Its requests fail until the end, under its name; the other's all succeed."""
    capture = uvloop.run(drive_and_kill_b(policy))

    expected = [NAMES[lane] for lane in lanes(Route(policy, seed=1), 2, plan(40))]
    assert [record.replica for record in capture.records] == expected
    assert all(record.succeeded for record in capture.records if record.replica == "a")
    late = [record for record in capture.records[28:] if record.replica == "b"]
    assert late
    assert {record.error_code for record in late} == {"connect_failed"}


def test_new_connections_go_on_to_reach_a_dead_replica_and_live_ones_stay() -> None:
    capture = uvloop.run(drive_and_kill_b("connection_random"))

    assert {record.replica for record in capture.records if not record.succeeded} == {"b"}
    assert all(record.succeeded for record in capture.records if record.replica == "a")


@pytest.mark.parametrize("policy", ROUTERS)
def test_behind_an_address_of_many_the_replica_stays_unknown(policy: str) -> None:
    async def main() -> None:
        async with serving(stream()) as fake:
            route = Route(policy)
            capture = await drive_cell([fake.target], plan(4), Load(concurrency=2), LIMITS, 0, route=route)

        assert [record.error_code for record in capture.records] == [None] * 4
        assert served(capture) == {None: 4}

    uvloop.run(main())


def test_each_target_is_asked_for_its_own_model() -> None:
    """A connection decides late where a request goes; the body names that server's model all the same."""

    async def main() -> None:
        async with replicas(*[stream()] * 2) as (fakes, targets):
            named = [replace(target, model=f"model-{target.replica}") for target in targets]
            route = Route("connection_random", seed=1)
            await drive_cell(named, plan(20), Load(concurrency=6), LIMITS, 0, route=route)

        for fake, name in zip(fakes, NAMES, strict=False):
            assert {request.body["model"] for request in fake.received} == {f"model-{name}"}

    uvloop.run(main())

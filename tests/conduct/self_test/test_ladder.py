"""Climbing with a client whose errors are made up."""

from collections.abc import Callable

from tests.conduct.self_test.rungs import rung
from whichbits.conduct.self_test.drive import Order
from whichbits.conduct.self_test.ladder import Climb, Ladder, climb
from whichbits.conduct.self_test.result import as_object, limit, sentences, verdicts_right
from whichbits.conduct.self_test.rung import Rung

Behaviour = Callable[[Order, int], Rung]


async def climbed(behave: Behaviour, **ladder: float) -> tuple[tuple[Climb, ...], list[Rung]]:
    """Climb with a client that behaves by the order and the number of times it had it before."""
    told: list[Rung] = []
    tries: dict[tuple[str, int], int] = {}

    async def drive(order: Order) -> Rung:
        key = (order.cadence, order.streams)
        tries[key] = tries.get(key, -1) + 1
        return behave(order, tries[key])

    wanted = Ladder(most_streams=512, clock=lambda: 3.0 * len(told))
    climbs = await climb(Ladder(**{**vars(wanted), **ladder}), drive, told.append)
    return climbs, told


def grows(order: Order, attempt: int) -> Rung:
    """Err by 1 ms for each 100 streams, and say so beyond 300."""
    verdict = "client_ok" if order.streams <= 300 else "client_limited"
    return rung(order.streams / 100, order.streams, verdict, cadence=order.cadence)  # type: ignore[arg-type]


async def test_the_limits_are_the_last_rungs_within_the_bounds() -> None:
    climbs, told = await climbed(grows, seconds=1000.0)

    # 32, 64, 128, 256, then 512 twice, for each cadence.
    assert [each.streams for each in told] == [32, 64, 128, 256, 512, 512] * 2
    assert [each.end for each in climbs] == ["client", "client"]
    assert (limit(climbs, "exact") or rung()).streams == 64
    assert (limit(climbs, "coarse") or rung()).streams == 256
    assert verdicts_right(climbs)
    exact, coarse = sentences(climbs)
    assert "within 1 ms up to 64 streams, 3,200 tokens/s" in exact
    assert "within 5 ms up to 256 streams, 12,800 tokens/s; beyond it the client is late" in coarse


async def test_the_worse_cadence_sets_the_limit() -> None:
    def behave(order: Order, attempt: int) -> Rung:
        bound = 64 if order.cadence == "steps" else 256
        return rung(0.1 if order.streams <= bound else 9.0, order.streams, "client_ok", cadence=order.cadence)

    climbs, _ = await climbed(behave, seconds=1000.0)

    assert (limit(climbs, "exact") or rung()).streams == 64
    assert not verdicts_right(climbs)


async def test_one_miss_is_tried_again() -> None:
    def behave(order: Order, attempt: int) -> Rung:
        missed = order.streams == 64 and attempt == 0
        return rung(9.0 if missed else 0.1, order.streams, "client_limited" if missed else "client_ok")

    climbs, _ = await climbed(behave, seconds=1000.0)

    assert [each.end for each in climbs] == ["streams", "streams"]
    assert (limit(climbs, "exact") or rung()).streams == 512
    assert "the ladder ends there, so the client may do more" in sentences(climbs)[0]


async def test_a_mock_that_is_late_itself_says_nothing_against_the_client() -> None:
    climbs, told = await climbed(lambda order, _: rung(9.0, order.streams, mock_lag_ms=8.0), seconds=1000.0)

    assert [each.streams for each in told] == [32] * 8
    assert [each.end for each in climbs] == ["mock", "mock"]
    assert limit(climbs, "coarse") is None
    assert all("the mock was late itself" in sentence for sentence in sentences(climbs))


async def test_a_client_that_is_late_at_once_has_no_limit() -> None:
    climbs, _ = await climbed(lambda order, _: rung(9.0, order.streams, "client_limited"), seconds=1000.0)

    assert "Not even at 32 streams" in sentences(climbs)[1]


async def test_time_ends_a_climb_and_each_cadence_gets_its_share() -> None:
    climbs, told = await climbed(lambda order, _: rung(0.1, order.streams, cadence=order.cadence), seconds=12.0)

    assert [len(each.rungs) for each in climbs] == [2, 2]  # a rung takes 3 s
    assert [each.end for each in climbs] == ["time", "time"]
    assert len(told) == 4


async def test_the_object_has_every_rung_and_limit() -> None:
    climbs, told = await climbed(grows, seconds=1000.0)
    found = as_object(climbs)

    assert found["limits"] == {
        "exact": {"streams": 64, "tokens_per_s": 3200.0},
        "coarse": {"streams": 256, "tokens_per_s": 12800.0},
    }
    assert found["ends"] == {"spread": "client", "steps": "client"}
    assert len(found["rungs"]) == len(told)
    assert found["rungs"][0] | {"errors": None} == {
        "cadence": "spread",
        "streams": 32,
        "tokens_per_s": 1600.0,
        "errors": None,
        "cpu_us_per_token": 10.0,
        "mock_lag_p99_ms": 0.1,
        "verdict": "client_ok",
        "reasons": (),
        "failed": 0,
        "judgement": "exact",
        "verdict_right": True,
        "mock_was_late": False,
    }

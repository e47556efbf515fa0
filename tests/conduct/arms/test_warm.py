"""An arm is warm when two rounds agree; it gives up in good time, and on a server that refuses."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.record.make_run import failed, record
from whichbits.conduct.arms import warm
from whichbits.conduct.arms.warm import warm_up
from whichbits.drive.crew.crew import Crew
from whichbits.errors import ServerNotReady
from whichbits.record.schema import RequestRecord
from whichbits.serve.arm import RunningArm
from whichbits.study.model import Study
from whichbits.study.read import quickstart

RUNNING = cast("RunningArm", SimpleNamespace(fleet=SimpleNamespace(replicas=[SimpleNamespace(log="the.log")])))
Rounds = Callable[[Iterable[RequestRecord]], None]


def study(**rule: float) -> Study:
    return Study.model_validate(quickstart().model_dump(mode="json") | {"warm_up": rule})


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    """Let every request of each warm-up round be answered as the given record."""

    def answer_with(answers: Iterable[RequestRecord]) -> None:
        left: Iterator[RequestRecord] = iter(answers)

        async def drive_cell(_targets: Any, planned: list[Any], *_: Any, crew: Crew) -> SimpleNamespace:
            return SimpleNamespace(records=[next(left)] * len(planned))

        monkeypatch.setattr(warm, "drive_cell", drive_cell)
        monkeypatch.setattr(warm, "targets", lambda _running, _form: ())

    return answer_with


async def test_it_stops_at_the_first_two_rounds_that_agree(rounds: Rounds) -> None:
    rounds(record(tpot_ms=pace) for pace in (40, 20, 11, 10, 10))

    assert (await warm_up(study(stable_within=0.1), RUNNING, Crew.inline())).medians_ms == (40, 20, 11, 10)


@pytest.mark.parametrize(("at_most", "expected"), [(4, 1), (11, 2), (12, 3)])
async def test_it_sends_no_more_than_it_may(rounds: Rounds, at_most: int, expected: int) -> None:
    rounds(record(tpot_ms=1024 / 2**number) for number in range(100))

    assert (
        len((await warm_up(study(at_least_requests=4, at_most_requests=at_most), RUNNING, Crew.inline())).medians_ms)
        == expected
    )


@pytest.mark.parametrize(("paces", "stable"), [((40, 20, 20), True), ((40, 20, 10), False)])
async def test_it_says_whether_it_settled_and_how_long_it_took(
    rounds: Rounds, paces: tuple[float, ...], stable: bool
) -> None:
    rounds(record(tpot_ms=pace) for pace in paces)

    warmth = await warm_up(study(at_least_requests=4, at_most_requests=12), RUNNING, Crew.inline())

    assert warmth.stable is stable
    assert 0 < warmth.seconds < 60


async def test_answers_of_one_token_are_paced_by_their_first(rounds: Rounds) -> None:
    rounds(record(ttft_ms=ttft, n=1) for ttft in (50, 20, 20))

    assert (await warm_up(study(), RUNNING, Crew.inline())).medians_ms == (50, 20, 20)


async def test_a_server_that_refuses_every_request_is_not_ready(rounds: Rounds) -> None:
    refused = replace(failed(record()), error="HTTP 500: out of patience")
    rounds([refused])

    with pytest.raises(ServerNotReady, match="out of patience") as failure:
        await warm_up(study(), RUNNING, Crew.inline())
    assert "the.log" in failure.value.fix

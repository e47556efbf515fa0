"""The estimate is rough, but more work is never said to take less time."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichbits.conduct import estimate
from whichbits.conduct.estimate import Pace, planned_cells, study_estimate, study_seconds
from whichbits.conduct.order import pending, visits
from whichbits.study.model import Study
from whichbits.study.read import quickstart

TARGET = {"target": "http://127.0.0.1:8000"}


def study(**changes: Any) -> Study:
    return Study.model_validate(quickstart().model_dump(mode="json") | changes)


def seconds(asked: Study) -> float:
    return study_seconds(asked, visits(asked))


@settings(max_examples=20, deadline=None)
@given(few=st.integers(1, 200), more=st.integers(1, 200))
def test_more_requests_take_longer(few: int, more: int) -> None:
    def sized(requests: int) -> Study:
        return study(cell={"requests": requests}, loads=[4])

    assert seconds(sized(few)) < seconds(sized(few + more))


def test_a_load_takes_less_time_the_more_it_batches() -> None:
    cells = planned_cells(batched := study(cell={"requests": 64}, traffic={"kind": "random"}), visits(batched))
    by_load = [cell.seconds for cell in cells[:4]]

    assert by_load == sorted(by_load, reverse=True)


def test_a_mock_takes_as_long_as_its_options_order() -> None:
    arms = {"slow": {"weight_format": "fp16", "options": {"itl_ms": 10, "itl_per_running_ms": 0.5}}}
    mocked = study(
        every_arm={"engine": "mock", "model": "any"},
        arms=arms,
        traffic={"kind": "random", "input_tokens": 8, "output_tokens": 100},
        loads=[4],
        cell={"requests": 8},
    )
    (cell,) = planned_cells(mocked, visits(mocked))

    # Two rounds of 100 steps, each of 10 + 4 x 0.5 ms.
    assert cell.seconds == pytest.approx(2 * 100 * 0.012)
    assert "mocks" in study_estimate(mocked, visits(mocked)).supposes


def test_an_open_loop_takes_at_least_until_its_last_arrival() -> None:
    slow = study(loads=[{"request_rate": 0.5}], cell={"requests": 30})

    assert all(cell.seconds > 30 for cell in planned_cells(slow, visits(slow)))


def test_a_closed_loop_of_sessions_thinks() -> None:
    quick, slow = (
        study(
            traffic={"kind": "sessions", "think": "constant", "think_seconds": think}, loads=[4], cell={"requests": 32}
        )
        for think in (0, 10)
    )
    first, later = (planned_cells(each, visits(each))[0].seconds for each in (quick, slow))

    assert later - first == pytest.approx(24 * 10 / 4)


def test_what_is_done_is_not_counted_again() -> None:
    planned = visits(quickstart())

    assert study_seconds(quickstart(), pending(planned, {0, 1})) < study_seconds(quickstart(), planned)
    assert study_seconds(quickstart(), ()) == 0


def test_profiling_takes_its_time_for_each_arm_and_chosen_load() -> None:
    plain, profiled = study(), study(profile={"seconds": 10, "loads": [1]})

    assert seconds(profiled) >= seconds(plain) + 10 * len(plain.arms)


def test_the_quickstart_is_a_matter_of_minutes() -> None:
    assert 30 < seconds(quickstart()) < 600


def test_a_cell_costs_its_prompts_and_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace(start_s=0, prompt_token_s=0.01, step_s=0.1, step_per_sequence_s=0.02)
    monkeypatch.setattr(estimate, "_PACES", {"embedded": pace})
    asked = study(cell={"requests": 5}, traffic={"kind": "random", "input_tokens": 10, "output_tokens": 3})
    first, second, *_ = planned_cells(asked, visits(asked))

    assert (first.requests, first.prompt_tokens, first.output_tokens) == (5, 50, 15)
    assert first.seconds == pytest.approx(50 * 0.01 + 15 * 0.12)
    assert second.seconds == pytest.approx(50 * 0.01 + 15 / 4 * 0.18)  # four sequences share a step


def test_an_estimate_is_the_sum_of_its_parts() -> None:
    planned = visits(quickstart())
    found = study_estimate(quickstart(), planned)

    assert found.cells == tuple(cell.seconds for cell in planned_cells(quickstart(), planned))
    assert found.seconds == pytest.approx(sum(found.cells) + 9.0 * sum(len(visit.arms) for visit in planned))


def test_starts_that_begin_at_once_take_as_long_as_one() -> None:
    arms = {name: {"weight_format": "fp16", "model": "any", "engine": "mock"} for name in ("one", "two", "three")}
    apart, together = (study(arms=arms, loads=[1], arms_together=at_once) for at_once in (False, True))

    assert seconds(apart) - seconds(together) == pytest.approx(2 * 3.0)


def test_servers_that_run_already_cost_no_start() -> None:
    started, attached = ({"weight_format": "fp16", "model": "any", "engine": "vllm"} | more for more in ({}, TARGET))

    first, second = (seconds(study(arms={"it": arm}, loads=[1])) for arm in (started, attached))
    assert first - second == pytest.approx(120.0)

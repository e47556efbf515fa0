"""Levels and paces of a series of scrapes, worked out by hand."""

import pytest

from whichbits.serve.metrics import EngineCounters
from whichbits.serve.metrics.rates import Level, Moment, generation_rate, level, pace, usage


def running(time_ms: int, count: int | None) -> Moment:
    return Moment(time_ms * 1_000_000, EngineCounters(requests_running=count))


def generated(time_ms: int, tokens: int | None, created_s: float | None = None) -> Moment:
    return Moment(time_ms * 1_000_000, EngineCounters(generation_tokens=tokens, created_s=created_s))


def test_servers_that_are_scraped_in_turn_add_up_once_all_have_spoken() -> None:
    first = [running(0, 3), running(500, 5)]
    second = [running(1, 4), running(501, 0)]

    # 3 + 4, then 5 + 4, then 5 + 0.
    assert level({"0": first, "1": second}, "requests_running") == Level(peak=9, mean=7.0, n=3)


def test_a_silent_server_leaves_the_level_unknown() -> None:
    assert level({"0": [running(0, 3)], "1": [running(1, None)]}, "requests_running") is None
    assert level({}, "requests_running") is None


def test_the_fullest_cache_is_the_peak() -> None:
    def used(share: float | None) -> Moment:
        return Moment(0, EngineCounters(kv_cache_usage=share))

    # 0.25, 0.5 and 0.75 are exact in binary.
    assert usage({"0": [used(0.25), used(0.5)], "1": [used(0.75), used(None)]}) == Level(0.75, 0.5, 3)


def test_the_pace_of_generation_leaves_out_restarts_and_silence() -> None:
    series = [
        generated(0, 100, 1.0),
        generated(500, 160, 1.0),
        generated(1000, 20, 2.0),
        generated(2000, 45, 2.0),
        generated(2500, None, 2.0),
    ]

    assert generation_rate(series) == [(500_000_000, 120.0), (2_000_000_000, 25.0)]


def test_the_pace_of_all_servers_is_added_up() -> None:
    first = [generated(0, 0), generated(500, 50), generated(1000, 150)]
    second = [generated(1, 0), generated(501, 10), generated(1001, 30)]

    # 100 alone is not counted; then 100 + 20, 200 + 20 and 200 + 40.
    assert pace({"0": first, "1": second}) == Level(peak=240, mean=pytest.approx(580 / 3), n=3)  # type: ignore[arg-type]
    assert pace({"0": first, "1": second[:1]}) is None

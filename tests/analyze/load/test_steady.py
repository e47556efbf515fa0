"""The steady window of cells in which it is known by construction, and the reasons of those that have none."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.analyze.make_cell import timelines
from tests.record.make_run import MS, failed, record
from whichbits.analyze.latency.throughput import steady_output_tokens_per_s
from whichbits.analyze.load.concurrency import mean_concurrency
from whichbits.analyze.load.shape import CLOSED, LoadShape, load_shape
from whichbits.analyze.load.steady import Steady, steady, steady_state
from whichbits.record.schema import Cell, RequestRecord
from whichbits.record.timelines import Timelines

DRAWN = LoadShape(open_loop=True, one_rate=True)
UNTOLD = LoadShape(open_loop=True)


def answered(index: int, sent_ms: float, end_ms: float, tokens: int = 10) -> RequestRecord:
    """Tokens evenly from the send to the end, the last one at the end; due when sent."""
    stamps = tuple(round((sent_ms + (end_ms - sent_ms) * n / tokens) * MS) for n in range(1, tokens + 1))
    good = record(index, round(sent_ms * MS), n=tokens)
    return replace(good, sent_ns=good.scheduled_ns, chunk_ns=stamps, finished_ns=stamps[-1])


def closed_loop(streams: int, waves: int, took_ms: Callable[[float], float]) -> Timelines:
    """Each stream sends as its last answer ends; streams begin spread over a request's time."""
    records: list[RequestRecord] = []
    for stream in range(streams):
        now = took_ms(0) * stream / streams
        for _ in range(waves):
            records.append(answered(len(records), now, now + took_ms(now)))
            now += took_ms(now)
    return timelines(records)


def open_loop(gap_ms: float, requests: int, took_ms: Callable[[int], float]) -> Timelines:
    return timelines([answered(n, gap_ms * n, gap_ms * n + took_ms(n)) for n in range(requests)])


def seconds(found: Steady) -> tuple[float, float]:
    assert found.window is not None
    return found.window.start_ns / 1e9, found.window.end_ns / 1e9


def test_a_closed_loop_is_steady_between_its_ramp_and_its_drain() -> None:
    """4 streams begin at 0, 25, 50 and 75 ms; the last one sends its last request 800 ms after its first."""
    cell = closed_loop(4, 9, lambda _: 100)

    found = steady(cell)

    assert seconds(found) == (0.075, 0.875)
    assert steady_output_tokens_per_s(cell, found.window) == pytest.approx(400)
    assert found.cut_ns is None, "eight requests long: too short to look for a slow start"
    assert found.drift == pytest.approx(0, abs=0.02)


def test_what_is_shown_of_it_counts_from_the_first_send() -> None:
    shown = steady_state(cell := closed_loop(4, 9, lambda _: 100), steady(cell))

    assert (shown.start_s, shown.end_s) == (0.075, 0.875)
    assert shown.share == pytest.approx(0.8 / 0.975)
    assert shown.requests == 8 * 4, "the send that opens the window is outside, the one that closes it inside"
    assert shown.mean_concurrency == pytest.approx(4)
    assert mean_concurrency(cell) == pytest.approx(4 * 0.9 / 0.975)
    assert shown.reason is None


def test_a_slow_start_is_cut() -> None:
    """The first 600 ms are three times slower; then 4 streams of 100 ms for 2 s or so."""
    cell = closed_loop(4, 22, lambda now: 300 if now < 600 else 100)

    found = steady(cell)

    assert found.cut_ns is not None
    assert 0.5 < seconds(found)[0] < 1.0
    assert steady_output_tokens_per_s(cell, found.window) == pytest.approx(400, rel=0.01)


def test_throughput_that_falls_throughout_is_not_steady() -> None:
    found = steady(closed_loop(4, 30, lambda now: 100 + now / 20))

    assert (found.window, found.reason) == (None, "throughput_drifts")
    assert found.drift is not None
    assert found.drift < -0.1


def test_an_open_loop_fills_up_before_it_is_steady() -> None:
    """One each 10 ms, each 95 ms: ten in flight from 90 ms on (the tenth send) half of the time, nine in between."""
    cell = open_loop(10, 200, lambda _: 95)

    found = steady(cell, DRAWN)

    start, end = seconds(found)
    assert 0.09 <= start < 0.2
    assert end == pytest.approx(1.99)
    assert steady_output_tokens_per_s(cell, found.window) == pytest.approx(1000, rel=0.01)


def test_an_open_loop_of_two_requests_length_is_too_short() -> None:
    assert steady(open_loop(10, 20, lambda _: 95), DRAWN).reason == "too_short"
    assert steady(open_loop(10, 20, lambda _: 95), CLOSED).window is not None


def test_an_open_loop_of_few_requests_has_no_rate() -> None:
    assert steady(open_loop(100, 12, lambda _: 250), DRAWN).reason is None
    assert steady(open_loop(100, 8, lambda _: 150), DRAWN).reason == "too_short"


def test_a_queue_that_grows_is_not_steady() -> None:
    """Sent 5 ms apart, served 6 ms apart: request n waits n ms; 59 are in flight half-way, 109 at the last send.

    The window is four median requests long: too few for a trend, but chance does no such thing.
    """
    found = steady(open_loop(5, 600, lambda n: 50 + n), DRAWN)

    assert (found.window, found.reason) == (None, "in_flight_grows")


def test_a_mild_queue_is_found_by_its_trend() -> None:
    """From 29 half-way to 48 at the end, which chance might do to so few, but not in 16 steps upwards."""
    found = steady(open_loop(20, 1000, lambda n: 200 + 0.8 * n), DRAWN)

    assert (found.window, found.reason) == (None, "in_flight_grows")


@pytest.mark.parametrize(("shape", "reason"), [(UNTOLD, "arrivals_vary"), (DRAWN, None)])
def test_arrivals_of_no_known_rate_must_have_one(shape: LoadShape, reason: str | None) -> None:
    """80, 20, 20 and 80 in each second, 50 ms each: of arrivals known to come at one rate, that would be chance."""
    sent = [1000 * second + 1000 * n / many for second, many in enumerate((80, 20, 20, 80)) for n in range(many)]
    cell = timelines([answered(n, at, at + 50) for n, at in enumerate(sent)])

    assert steady(cell, shape).reason == reason


@pytest.mark.parametrize("moving", ["ramp", "stages"])
def test_where_the_rate_moves_by_design_nothing_is_steady(moving: Any) -> None:
    found = steady(open_loop(10, 200, lambda _: 95), LoadShape(open_loop=True, moving=moving))

    assert (found.window, found.reason) == (None, moving)


def test_sessions_that_run_out_end_the_window_with_the_crowd() -> None:
    """Eight streams for a second; then one goes on alone for 500 ms, turn after turn."""
    alone = [answered(80 + n, 1000 + 50 * n, 1050 + 50 * n) for n in range(10)]
    crowd = [answered(8 * turn + n, 100 * turn, 100 * (turn + 1)) for turn in range(10) for n in range(8)]
    cell = timelines([*crowd, *alone])

    assert seconds(steady(cell)) == (0.0, 1.0)


def test_cells_without_a_good_answer_say_so() -> None:
    assert steady(timelines([failed(record())])) == Steady(None, "nothing_answered")
    assert steady(timelines([])) == Steady(None, "nothing_answered")
    shown = steady_state(timelines([failed(record())]), Steady(None, "nothing_answered"))
    assert (shown.start_s, shown.requests, shown.reason) == (None, None, "nothing_answered")


def test_of_many_poisson_cells_few_are_refused_and_the_rate_is_theirs() -> None:
    """20 requests/s for 20 s, half a second each, ten tokens: 200 tokens/s."""
    draws = np.random.default_rng(11)
    rates, refused = [], 0
    for _ in range(60):
        sent = np.sort(draws.uniform(0, 20_000, draws.poisson(400)))
        cell = timelines([answered(n, at, at + draws.uniform(250, 750)) for n, at in enumerate(sent.tolist())])
        rate = steady_output_tokens_per_s(cell, steady(cell, DRAWN).window)
        rates += [] if rate is None else [rate]
        refused += rate is None
    assert refused <= 4
    assert np.mean(rates) == pytest.approx(200, rel=0.03)


STAGES = {"kind": "stages", "stages": [{"share": 1.0, "seconds": 5}, {"share": 0.5, "seconds": 5}]}
EVEN = {"kind": "stages", "stages": [{"share": 1.0, "seconds": 5}, {"share": 1.0, "seconds": 5}]}
CHAT, RATED = {"kind": "chat"}, Cell(0, "bf16", None, 5.0, 0)


@pytest.mark.parametrize(
    ("study", "shape"),
    [
        ({"traffic": CHAT, "arrivals": {"kind": "poisson"}}, DRAWN),
        ({"traffic": CHAT, "arrivals": "poisson"}, DRAWN),
        ({"traffic": CHAT, "arrivals": {"kind": "gamma", "burstiness": 0.5}}, DRAWN),
        ({"traffic": CHAT, "arrivals": {"kind": "ramp", "start": 0, "end": 1}}, LoadShape(True, "ramp")),
        ({"traffic": CHAT, "arrivals": {"kind": "ramp", "start": 1, "end": 1}}, DRAWN),
        ({"traffic": CHAT, "arrivals": STAGES}, LoadShape(True, "stages")),
        ({"traffic": CHAT, "arrivals": EVEN}, DRAWN),
        ({"traffic": CHAT, "arrivals": {"kind": "trace"}}, UNTOLD),
        ({"traffic": {"kind": "run"}, "arrivals": {"kind": "poisson"}}, UNTOLD),
        (
            {"traffic": {"kind": "sessions"}, "arrivals": {"kind": "poisson"}},
            LoadShape(open_loop=True, one_rate=True, turns=True),
        ),
        ({}, UNTOLD),
    ],
)
def test_the_shape_of_a_load_is_read_off_the_study(study: dict[str, Any], shape: LoadShape) -> None:
    assert load_shape(RATED, study) == shape


def test_a_load_without_a_rate_is_closed_whatever_arrivals_say() -> None:
    study = {"traffic": CHAT, "arrivals": {"kind": "ramp", "start": 0, "end": 1}}

    assert load_shape(Cell(0, "bf16", 4, None, 0), study) == CLOSED

"""Rates of an open loop, the wait before the send, and the drain, of cells made by hand."""

from dataclasses import astuple, replace

import pytest

from tests.analyze.make_cell import CELL, timelines
from tests.record.make_run import MS, failed, record
from whichbits.analyze.cells.cell import cell_summary
from whichbits.analyze.load.concurrency import Window
from whichbits.analyze.load.sending import arrival_rates, drain
from whichbits.analyze.load.shape import LoadShape
from whichbits.record.columns import table_of
from whichbits.record.schema import Cell, ClientHealth, Imported, RequestRecord

RATED = Cell(0, "bf16", 2, 10.0, 0)
DRAWN = LoadShape(open_loop=True, one_rate=True)


def held(index: int, due_ms: int, sent_ms: int, end_ms: int) -> RequestRecord:
    times = (due_ms * MS, sent_ms * MS, end_ms * MS)
    due, sent, end = times
    return replace(record(index, n=2), scheduled_ns=due, sent_ns=sent, chunk_ns=(end - MS, end), finished_ns=end)


UNDER_A_CAP = [held(0, 0, 0, 200), held(1, 100, 100, 300), held(2, 200, 250, 400), held(3, 300, 450, 700)]
"""Due 100 ms apart, the last two wait 50 and 150 ms."""


def test_rates_tell_what_was_asked_planned_sent_and_served() -> None:
    window = Window(100 * MS, 400 * MS)

    found = arrival_rates(RATED, timelines(UNDER_A_CAP), DRAWN, window)

    assert found is not None
    assert astuple(found) == pytest.approx((10.0, 10.0, 3 / 0.45, 2 / 0.3, 1 / 0.3, 3 / 0.3))


def test_the_plan_s_own_rate_is_the_client_s_and_that_of_turns_is_unknown() -> None:
    health = ClientHealth("client_ok", (), None, None, None, None, requested_rate=9.5)
    told = arrival_rates(replace(RATED, client=health), timelines(UNDER_A_CAP), DRAWN, None)
    turns = arrival_rates(RATED, timelines(UNDER_A_CAP), replace(DRAWN, turns=True), Window(0, 400 * MS))

    assert told is not None
    assert (told.planned, told.steady_sent) == (9.5, None)
    assert turns is not None
    assert (turns.planned, turns.steady_planned) == (None, None)
    assert turns.steady_sent is not None


def test_a_closed_loop_has_no_rate() -> None:
    assert arrival_rates(CELL, timelines(UNDER_A_CAP), LoadShape(open_loop=False), None) is None


def test_the_drain_is_from_the_last_send_to_the_last_end() -> None:
    found = drain(timelines(UNDER_A_CAP))

    assert found is not None
    assert astuple(found) == pytest.approx((0.25, 0.25 / 0.7))
    assert drain(timelines([])) is None
    assert drain(timelines([replace(record(), sent_ns=None, finished_ns=None)])) is None


def test_the_wait_before_the_send_counts_for_failed_requests_too() -> None:
    cut_off = failed(replace(record(4), sent_ns=90 * MS))

    found = cell_summary(RATED, table_of(RATED, [*UNDER_A_CAP, cut_off]), shape=DRAWN)

    assert found.send_wait_ms is not None
    assert (found.send_wait_ms.n, found.send_wait_ms.p50, found.send_wait_ms.mean) == (5, 50, 58)
    assert (found.ttft_ms.mean, found.ttft_from_send_ms.mean) == (249, 199)
    assert found.e2e_from_send_ms is not None
    assert (found.e2e_ms.mean, found.e2e_from_send_ms.mean) == (250, 200)
    assert found.steady is not None
    assert found.steady.reason == "too_short"


def test_other_tools_do_not_tell_when_a_request_was_due() -> None:
    tool = Imported("aiperf", {"ttft_ms": "ttft_send", "itl_ms": "itl"})
    cell = replace(RATED, imported=tool)

    whole = cell_summary(cell, table_of(RATED, UNDER_A_CAP), shape=LoadShape(open_loop=True))
    apart = cell_summary(
        replace(cell, imported=replace(tool, definitions={}, one_clock=False)), table_of(RATED, UNDER_A_CAP)
    )

    assert (whole.send_wait_ms, whole.e2e_from_send_ms) == (None, None)
    assert whole.arrival_rates is not None
    assert whole.arrival_rates.planned is None
    assert whole.arrival_rates.sent == pytest.approx(3 / 0.45)
    assert whole.drain is not None
    assert (apart.drain, apart.steady, apart.mean_concurrency, apart.arrival_rates) == (None, None, None, None)

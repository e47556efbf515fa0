"""Which gaps carried a neighbour's prefill, on engines whose steps are laid out by hand."""

from dataclasses import replace

import pytest

from tests.analyze.make_cell import timelines
from tests.record.make_run import MS, record
from whichbits.analyze.latency.prefill_steps import PrefillSteps, prefill_steps
from whichbits.record.schema import RequestRecord


def answer(index: int, *chunks_ms: float, replica: str = "0") -> RequestRecord:
    """A request whose chunks came at the given times."""
    stamps = tuple(round(each * MS) for each in chunks_ms)
    made = replace(record(index), replica=replica, chunk_ns=stamps, chunk_tokens=(1,) * len(stamps))
    return replace(made, output_tokens=len(stamps), scheduled_ns=0, sent_ns=0, finished_ns=stamps[-1])


FIRST = answer(0, 10, 20, 30, 130, 140)
"""Its step that ends at 130 ms takes 100 ms: the second request's prompt was prefilled in it."""
SECOND = answer(1, 130.2, 140.2, 150.2)


def found_in(*records: RequestRecord) -> PrefillSteps | None:
    return prefill_steps(timelines(records), [each.replica for each in records])


def test_the_gap_that_ends_with_a_neighbours_first_token_carries_its_prefill() -> None:
    found = found_in(FIRST, SECOND)

    assert found is not None
    assert found.n == 6
    assert found.share == pytest.approx(1 / 6)
    assert found.with_prefill_ms == pytest.approx(100)
    assert found.without_prefill_ms == pytest.approx(10)


@pytest.mark.parametrize("jitter", [-4.0, 0.0, 4.0])
def test_chunks_of_one_step_need_not_arrive_at_once(jitter: float) -> None:
    found = found_in(FIRST, answer(1, 130 + jitter, 140, 150))

    assert found is not None
    assert found.with_prefill_ms == pytest.approx(100)


def test_an_engine_that_prepares_a_step_ahead_shows_the_prefill_one_gap_early() -> None:
    found = found_in(answer(0, 10, 20, 130, 133, 143), answer(1, 133.2, 143.2, 153.2))

    assert found is not None
    assert found.with_prefill_ms == pytest.approx(110)
    assert found.share == pytest.approx(1 / 6)


def test_another_replicas_prefill_slows_nobody_here() -> None:
    found = found_in(FIRST, replace(SECOND, replica="1"))

    assert found is not None
    assert found.share == 0
    assert found.with_prefill_ms is None


def test_the_next_request_of_the_same_stream_is_no_neighbour() -> None:
    found = found_in(FIRST, answer(1, 143, 153))

    assert found is not None
    assert found.share == 0


def test_a_neighbour_that_fails_later_was_prefilled_all_the_same() -> None:
    found = found_in(FIRST, replace(SECOND, error_code="connection_lost"))

    assert found is not None
    assert (found.n, found.share) == (4, 0.25)


@pytest.mark.parametrize("records", [(), (answer(0, 10),), (FIRST, replace(SECOND, replica=None))])
def test_nothing_is_said_where_gaps_or_replicas_are_unknown(records: tuple[RequestRecord, ...]) -> None:
    assert found_in(*records) is None

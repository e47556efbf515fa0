"""A reset that no server confirmed is a doubt only where the hit rates leave one."""

from dataclasses import replace

import pytest

from tests.analyze.make_cell import summary
from tests.record.make_run import manifest
from whichbits.analyze.findings.cache import not_cold, shown_resets, unexpected_hits, unverified_resets
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.summary import CellSummary
from whichbits.record.schema import Cell

EMPTY_ANSWER = "unverified: 0 answered 200 ''"
Rates = tuple[float, float] | None


def codes(state: str, *cells: CellSummary) -> list[str]:
    recorded = [Cell(cell.cell, cell.arm, cell.concurrency, None, cell.repeat, cache_state=state) for cell in cells]
    observed = Observed(manifest(cells=recorded), cells)
    return [finding.code for check in (unverified_resets, shown_resets) for finding in check(observed)]


def cell(expected: Rates, *, as_expected: bool | None, number: int = 0) -> CellSummary:
    place = replace(summary("bf16", 4, 10.0), cell=number)
    return replace(place, expected_prefix_hit_rate=expected, hit_rate_as_expected=as_expected)


@pytest.mark.parametrize(
    ("expected", "as_expected", "code"),
    [
        ((0.0, 0.0), True, "cache_reset_shown"),
        ((0.42, 0.44), True, "cache_reset_shown"),
        ((0.0, 0.0), False, "cache_reset_unverified"),  # found more, or less, than its own traffic puts there
        (None, None, "cache_reset_unverified"),  # nobody counts, or nobody can say what to expect
        ((0.0, 0.0), None, "cache_reset_unverified"),
        ((0.42, 0.9), True, "cache_reset_unverified"),  # warm and cold would both lie within
    ],
)
def test_hit_rates_prove_what_the_server_left_open(expected: Rates, as_expected: bool | None, code: str) -> None:
    assert codes(EMPTY_ANSWER, cell(expected, as_expected=as_expected)) == [code]


@pytest.mark.parametrize("state", ["reset", "salted", "restarted", "primed", ""])
def test_other_states_of_the_cache_leave_no_doubt_about_a_reset(state: str) -> None:
    assert codes(state, cell(None, as_expected=None)) == []


def test_cells_with_the_same_answer_stand_in_one_sentence() -> None:
    shown, doubtful, also = (
        cell((0.0, 0.0), as_expected=known, number=number) for number, known in enumerate((True, None, None))
    )

    assert codes(EMPTY_ANSWER, shown, doubtful, also) == ["cache_reset_unverified", "cache_reset_shown"]


def hits(found: float, *, number: int) -> CellSummary:
    return replace(cell((0.5, 0.5), as_expected=False, number=number), prefix_hit_rate=found)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((0.9, 0.5), ["cache_not_cold"]),
        ((0.1, 0.5), ["hit_rate_unexpected"]),
        ((0.9, 0.1), ["hit_rate_unexpected"]),
    ],
    ids=["above", "below", "both ways"],
)
def test_one_finding_says_what_is_wrong_with_the_hits(rates: tuple[float, ...], expected: list[str]) -> None:
    observed = Observed(manifest(), [hits(rate, number=number) for number, rate in enumerate(rates)])

    assert [finding.code for check in (not_cold, unexpected_hits) for finding in check(observed)] == expected


def test_a_cache_known_to_be_warm_is_not_also_said_to_be_unproven() -> None:
    recorded = Cell(0, "bf16", 4, None, 0, cache_state=EMPTY_ANSWER)
    observed = Observed(manifest(cells=[recorded]), [hits(0.9, number=0)])

    assert [finding.code for check in (unverified_resets, not_cold) for finding in check(observed)] == [
        "cache_not_cold"
    ]

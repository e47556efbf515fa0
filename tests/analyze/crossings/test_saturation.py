"""An arm is over-saturated where more load buys waiting and nothing else, beyond doubt."""

from dataclasses import replace

import numpy as np
import pytest

from tests.analyze.make_cell import summary
from whichbits.analyze.cells.noise import Replicates
from whichbits.analyze.crossings.pairing import Compared, same_load
from whichbits.analyze.crossings.saturation import over_saturated_from
from whichbits.analyze.curves.slo import slo_bracket
from whichbits.analyze.summary import CellSummary, Distribution


def cell(load: int, tokens_per_s: float, number: int = 0) -> CellSummary:
    """In a closed loop E2E is streams over requests a second, here of 100 tokens."""
    e2e = 1000 * load / (tokens_per_s / 100)
    times = Distribution(100, e2e, e2e, e2e, e2e)
    return replace(summary("a", load, 10.0), cell=number, output_tokens_per_s=tokens_per_s, e2e_ms=times)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ({1: 100, 4: 400, 16: 1600}, None),
        ({1: 100, 4: 400, 16: 410, 64: 415}, 16),
        ({1: 100, 4: 250, 16: 500, 64: 700}, None),
        ({1: 100, 4: 400, 16: 300}, 16),
        ({1: 100, 4: 400, 16: 300, 64: 1600}, None),
        ({4: 400}, None),
    ],
)
def test_the_first_load_that_buys_waiting_only(work: dict[int, float], expected: int | None) -> None:
    assert over_saturated_from([cell(*each) for each in work.items()], "a", {}) == expected


def test_noise_that_may_hide_a_rise_leaves_it_open() -> None:
    cells = [cell(4, 400, 0), cell(8, 405, 1)]
    noise = np.random.default_rng(0).normal(0, 0.2, (2, 50))
    loud: dict[int, Replicates] = {at: {"output_tokens_per_s": logs} for at, logs in enumerate(noise)}

    assert over_saturated_from(cells, "a", {}) == 8
    assert over_saturated_from(cells, "a", loud) is None


def test_cells_that_must_not_decide_and_other_arms_do_not() -> None:
    cells = [cell(4, 400), replace(cell(16, 405), client_verdict="client_limited"), replace(cell(16, 405), arm="b")]

    assert over_saturated_from(cells, "a", {}) is None


def test_the_slo_lies_between_the_last_load_that_holds_and_the_first_that_does_not() -> None:
    shares = {1: 1.0, 4: 0.995, 16: 0.9, 64: 1.0}
    cells = [replace(summary("a", load, 1.0), requests=1000, slo_share=share) for load, share in shares.items()]

    assert slo_bracket(cells, "a", "concurrency") == (4, 16)
    assert slo_bracket(cells[:2], "a", "concurrency") == (4, None)
    assert slo_bracket(cells[2:3], "a", "concurrency") == (None, 16)
    assert slo_bracket([], "a", "concurrency") == (None, None)


def test_cells_of_one_block_share_a_start_and_single_ones_do_not() -> None:
    def met(load: int, repeat: int, block: int | None) -> list[CellSummary]:
        return [replace(summary(arm, load, 1.0, repeat), block=block) for arm in "ab"]

    def paired(*cells: list[CellSummary]) -> tuple[tuple[int, ...], bool]:
        found = same_load(
            Compared([each for both in cells for each in both], "concurrency", {}), ("a", "b"), "tpot_ms.p50"
        )
        return found.values.shape, found.apart

    assert paired(met(1, 0, 0), met(4, 0, 0), met(4, 1, 1)) == ((2, 2), False)
    assert paired(met(1, 0, 0), met(4, 0, 1), met(4, 1, 2)) == ((2, 3), True)
    assert paired(met(1, 0, None), met(4, 0, None), met(4, 1, None)) == ((2, 2), False)

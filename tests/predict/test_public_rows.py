"""Predictions against public tables, from which some constants come: what may not get worse unnoticed."""

from itertools import combinations

import numpy as np
import pytest

from tests.predict.public_rows import Row, public_observations
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import default_constants
from whichbits.predict.quantities import quantities

Said = list[tuple[Row, float]]


@pytest.fixture(scope="module")
def said() -> Said:
    """Every row with predicted / measured."""
    return [
        (row, quantities(play_cell(each.deployment, each.question, default_constants()))[row.metric] / row.value)
        for row, each in public_observations()
    ]


def off(said: Said, table: str, *, longest: int = 200_000, gpus: tuple[int, ...] = (1, 2, 4)) -> list[float]:
    chosen = [(row, ratio) for row, ratio in said if row.table == table and row.gpus in gpus]
    return [abs(ratio - 1) for row, ratio in chosen if (row.prompt_tokens or 0) <= longest]


def test_batch_1_of_every_size_and_format_is_within_a_tenth_in_the_median(said: Said) -> None:
    errors = off(said, "qwen")
    assert len(errors) == 144
    assert np.median(errors) < 0.06
    assert np.percentile(errors, 90) < 0.2


def test_tensor_parallel_is_within_a_fifth_up_to_30_thousand_tokens(said: Said) -> None:
    errors = off(said, "qwen", longest=30_720, gpus=(2, 4))
    assert len(errors) == 17
    assert max(errors) < 0.2


def test_throughput_at_saturation_on_three_gpus(said: Said) -> None:
    assert np.median(off(said, "gpustack")) < 0.15


def test_the_faster_of_two_formats_is_the_faster_in_19_of_20_pairs(said: Said) -> None:
    """Pairs of one table, GPU, model and prompt whose values differ by more than a tenth."""
    right = []
    for (one, first), (other, second) in combinations(said, 2):
        ratio = one.value / other.value
        if one.place == other.place and not 1 / 1.1 <= ratio <= 1.1:
            right.append((ratio * first / second > 1) == (ratio > 1))
    assert len(right) > 140
    assert np.mean(right) >= 0.95

"""Predictions against whichbits' own runs on H200s: what may not get worse unnoticed; see docs/predict.md."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from tests.predict.h200_runs import h200_observations, h200_run, h200_study
from whichbits.predict.calibrate import Observation
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.quantities import Quantities, quantities
from whichbits.predict.run import deployments
from whichbits.predict.shipped import Known

KNOWN = Known(default_constants(), "0.25.1", shipped=True).of("H200")
Predicted = list[tuple[Observation, Quantities]]


def predicted(which: str, folder: Path) -> Predicted:
    observations = h200_observations("chat" if which == "chat" else "prefixes", folder)
    return [(each, quantities(play_cell(each.deployment, each.question, default_constants()))) for each in observations]


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Predicted:
    return predicted("chat", tmp_path_factory.mktemp("models"))


def errors(found: Predicted, quantity: str, loads: tuple[int, ...]) -> list[float]:
    return [
        abs(said[quantity] / each.measured[quantity] - 1) for each, said in found if each.question.concurrency in loads
    ]


def test_tpot_and_throughput_of_four_formats_are_within_a_tenth_up_to_64(chat: Predicted) -> None:
    for quantity in ("tpot_ms.p50", "output_tokens_per_s"):
        assert max(errors(chat, quantity, (1, 4, 16, 64))) < 0.1


def test_throughput_is_within_a_tenth_where_the_front_end_is_the_limit(chat: Predicted) -> None:
    found = errors(chat, "output_tokens_per_s", (128, 256))
    assert np.median(found) < 0.1
    assert max(found) < 0.15


def test_ttft_is_within_a_fifth_in_the_median_where_the_front_end_is_busy(chat: Predicted) -> None:
    assert np.median(errors(chat, "ttft_ms.p50", (64, 128))) < 0.2


def test_ttft_is_within_a_fifth_in_the_median_below_saturation(chat: Predicted) -> None:
    assert np.median(errors(chat, "ttft_ms.p50", (1, 4, 16))) < 0.2


def test_the_faster_of_two_formats_is_the_faster_if_they_differ_by_a_tenth(chat: Predicted) -> None:
    right = []
    for one, said in chat:
        for other, claimed in chat:
            ratio = one.measured["tpot_ms.p50"] / other.measured["tpot_ms.p50"]
            if one.question.concurrency == other.question.concurrency and ratio > 1.1:
                right.append(said["tpot_ms.p50"] > claimed["tpot_ms.p50"])
    assert len(right) == 20
    assert np.mean(right) >= 0.95


def test_kv_caches_of_four_formats_are_within_one_percent(tmp_path: Path) -> None:
    placed = deployments(h200_study("chat", tmp_path))
    for arm, tokens in h200_run("chat")["kv_cache_tokens"].items():
        assert room_of(placed[arm], default_constants()).kv_cache_tokens == pytest.approx(tokens, rel=0.01)


def test_hit_rates_of_two_replicas_are_within_three_points(tmp_path: Path) -> None:
    for each, said in predicted("prefixes", tmp_path):
        assert said["prefix_hit_rate"] == pytest.approx(each.measured["prefix_hit_rate"], abs=0.03)


@pytest.mark.parametrize("run", ["one_card", "one_card_warm"])
def test_two_replicas_on_one_card_are_slower_than_with_a_card_each_by_what_was_measured(
    run: Literal["one_card", "one_card_warm"], tmp_path: Path
) -> None:
    """A card each, they would keep up with 10 requests a second, and decode in 40 ms a token instead of 75 to 103."""
    for each in h200_observations(run, tmp_path):
        said = quantities(play_cell(each.deployment, each.question, KNOWN, keep_steps=True))
        assert said["output_tokens_per_s"] == pytest.approx(each.measured["output_tokens_per_s"], rel=0.2)
        assert said["tpot_ms.p50"] == pytest.approx(each.measured["tpot_ms.p50"], rel=0.15)
        assert said["itl_ms.p50"] == pytest.approx(each.measured["itl_ms.p50"], rel=0.2)
        assert said["ttft_from_send_ms.p50"] > 0.6 * each.measured["ttft_from_send_ms.p50"]

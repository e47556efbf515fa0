"""What the field reports found, from constants that were not fitted to them: signs and shares, not digits."""

from dataclasses import replace

import numpy as np
import pytest

from tests.predict.field_reports import A100, H200, H200_ARMS, L4, L4_KV_TOKENS, h200_question
from tests.predict.studies import SEED_A100, SEED_L4
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.quantities import Quantities, quantities
from whichbits.predict.run import deployments, question_of
from whichbits.predict.simulation.simulate import Played
from whichbits.predict.simulation.timelines import gaps_s
from whichbits.record.schema import Cell
from whichbits.study.model import CellSize


@pytest.fixture(scope="module")
def l4() -> dict[tuple[str, int], Quantities]:
    placed = deployments(SEED_L4)
    return {
        (arm, load): quantities(
            play_cell(placed[arm], question_of(SEED_L4, Cell(0, arm, load, None, 0)), default_constants())
        )
        for arm, load in L4
    }


def a100(arm: str, seed: int = 0) -> Played:
    question = question_of(SEED_A100, Cell(0, arm, 32, 10.0, 0))
    question = replace(question, seed=seed)
    return play_cell(deployments(SEED_A100)[arm], question, default_constants(), keep_steps=True)


def test_l4_w4a16_leads_at_low_load_and_w8a8_at_100(l4: dict[tuple[str, int], Quantities]) -> None:
    tpot = {key: found["tpot_ms.p50"] for key, found in l4.items()}
    for load in (1, 10):
        assert tpot["w4a16", load] < tpot["w8a8", load] < tpot["fp16", load]
    assert tpot["w8a8", 100] < tpot["w4a16", 100] < tpot["fp16", 100]
    assert l4["w8a8", 100]["ttft_ms.p50"] < l4["w4a16", 100]["ttft_ms.p50"]


def test_l4_medians_but_for_w4a16_at_low_load_are_within_ten_percent(l4: dict[tuple[str, int], Quantities]) -> None:
    """W4A16 at 1 and 10 is 30 % slower in the report than its bytes explain; see docs/predict.md."""
    for (arm, load), measured in L4.items():
        if arm != "w4a16" or load == 100:
            assert l4[arm, load]["tpot_ms.p50"] == pytest.approx(measured["tpot_ms.p50"], rel=0.10)


def output_tokens_per_s(arm: str, requests: int, **options: int) -> float:
    study = SEED_L4.model_copy(update={"cell": CellSize(requests=requests)})
    deployment = deployments(study)[arm]
    deployment = replace(deployment, arm=deployment.arm.model_copy(update={"options": options}))
    question = question_of(study, Cell(0, arm, 100, None, 0))
    return quantities(play_cell(deployment, question, default_constants()))["output_tokens_per_s"]


def test_l4_w4a16_leads_in_throughput_at_100_though_all_pools_hold_all_requests() -> None:
    """Not by room in the cache, as the report supposes."""
    w4a16 = output_tokens_per_s("w4a16", 200)
    assert w4a16 > output_tokens_per_s("w8a8", 200)
    squeezed = output_tokens_per_s("w4a16", 200, num_gpu_blocks_override=L4_KV_TOKENS["w8a8"] // 16)
    assert squeezed == pytest.approx(w4a16)


def test_l4_w8a8_leads_in_throughput_once_the_cell_is_long() -> None:
    """Of 200 requests, half end while batches shrink and prefill is over, where short decode steps count for most."""
    assert output_tokens_per_s("w8a8", 1000) > output_tokens_per_s("w4a16", 1000)


@pytest.mark.parametrize("arm", A100)
def test_a100_hit_rates_follow_from_capacity(arm: str) -> None:
    """Over ten ways in which connections may have fallen, the mean is within three points of what was counted."""
    rates = [quantities(a100(arm, seed))["prefix_hit_rate"] for seed in range(10)]
    assert np.mean(rates) == pytest.approx(A100[arm]["prefix_hit_rate"], abs=0.03)


def test_a100_gaps_are_bimodal_and_the_medians_fall_on_different_sides() -> None:
    """A step with a chunk of prefill takes ten times one without; about half of the gaps are of each kind.

    So the median is a matter of which half is larger: 21 against 190 ms in the report, with means of 159 and 155.
    """
    gaps = {arm: [gaps_s(a100(arm, seed)) * 1e3 for seed in range(10)] for arm in A100}
    medians = {arm: np.median([np.median(each) for each in found]) for arm, found in gaps.items()}
    means = {arm: np.mean([each.mean() for each in found]) for arm, found in gaps.items()}
    assert medians["awq"] < 30
    assert medians["bf16"] > 100
    assert means["awq"] == pytest.approx(means["bf16"], rel=0.2)
    for each in (*gaps["awq"], *gaps["bf16"]):
        assert 0.35 < np.mean(each < 60) < 0.65


def test_a100_awq_is_slower_to_its_first_token_in_spite_of_more_hits() -> None:
    def wait(played: Played) -> float:
        return float(np.median(np.array(played.first_s) - np.array(played.sent_s)))

    bf16, awq = a100("bf16"), a100("awq")
    assert sum(awq.cached_tokens) > sum(bf16.cached_tokens)
    assert wait(awq) > wait(bf16)


@pytest.mark.parametrize("arm", H200_ARMS)
def test_h200_medians_up_to_64_are_within_eight_percent(arm: str) -> None:
    deployment = Deployment.of(H200_ARMS[arm], "H200", "0.25.1")
    for load in (1, 4, 16, 64):
        found = quantities(play_cell(deployment, h200_question(load), default_constants()))
        assert found["tpot_ms.p50"] == pytest.approx(H200[arm, load][1], rel=0.08)

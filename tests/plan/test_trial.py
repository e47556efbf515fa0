"""Capacity under an SLO: against trying many rates, and at its ends."""

import numpy as np
import pytest

from whichbits.plan.demand import Demand, at, demand_of
from whichbits.plan.trial import Trials
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.study.arm import Arm
from whichbits.study.drawn_traffic import ChatTraffic
from whichbits.study.fleet import Day, FleetPlan, OfferedGpu
from whichbits.study.model import Load, Slo, Study

ARM = Arm(weight_format="w8a8-fp8", model="qwen2.5-7b", max_model_len=4096)
STUDY = Study(
    name="tiny", arms={"w8a8": ARM}, traffic=ChatTraffic(kind="chat", output_tokens=60), loads=(Load(concurrency=1),)
)
PLAN = FleetPlan(gpus={"L40S": OfferedGpu(price_per_hour=1)}, day=Day(peak=10))
SLO = Slo(ttft_ms=800, tpot_ms=40)


@pytest.fixture(scope="module")
def asked() -> Demand:
    return demand_of(STUDY, PLAN, 500)


@pytest.fixture(scope="module")
def trials(asked: Demand) -> Trials:
    return Trials(Deployment.of(ARM, "L40S", "0.25.1"), asked.sample, default_constants())


def test_the_slo_holds_below_the_capacity_and_not_above(trials: Trials) -> None:
    capacity = trials.capacity(SLO, 0.99)
    assert capacity is not None
    assert trials.near(0.85 * capacity).share(SLO) >= 0.99
    assert trials.near(1.15 * capacity).share(SLO) < 0.99


@pytest.mark.parametrize("expected", [0.02, 3.0, 1000.0])
def test_where_the_search_begins_does_not_matter(trials: Trials, expected: float) -> None:
    assert trials.capacity(SLO, 0.99, expected=expected) == pytest.approx(trials.capacity(SLO, 0.99))


def test_a_looser_slo_is_held_at_higher_rates_and_an_impossible_one_at_none(trials: Trials) -> None:
    tight, asked, loose = (trials.capacity(SLO, 0.99, factor) for factor in (0.75, 1.0, 2.0))
    assert tight is not None
    assert asked is not None
    assert loose is not None
    assert tight <= asked <= loose
    hopeless = Slo(ttft_ms=800, tpot_ms=1)
    assert trials.capacity(hopeless, 0.99) is None
    assert trials.alone.worst_bound(hopeless) == "tpot_ms"


def test_a_lone_request_takes_what_its_steps_take(trials: Trials) -> None:
    """Alone, TPOT is the decode step of one request; the first tenth, in which a replica fills, is not judged."""
    alone = trials.alone
    assert len(alone.times["tpot_ms"]) == 450
    spread = np.nanpercentile(alone.times["tpot_ms"], [5, 95])
    assert spread[1] / spread[0] < 1.1


def test_the_same_requests_come_faster(asked: Demand) -> None:
    faster = at(asked.sample, 4.0)
    assert faster.output_tokens == asked.sample.output_tokens
    assert np.array(faster.offset_s) * 4 == pytest.approx(np.array(asked.sample.offset_s))
    assert asked.mean_output_tokens == pytest.approx(60, rel=0.01)

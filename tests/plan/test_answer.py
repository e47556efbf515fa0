"""Whole plans: cheapest, mixed, other SLOs, and no plan with what binds."""

from pathlib import Path

import pytest

from whichbits.errors import BadInput
from whichbits.plan.answer import Answer, plan_study
from whichbits.plan.option import options_of
from whichbits.predict.constants import default_constants
from whichbits.predict.shipped import Known
from whichbits.study.model import Slo, Study
from whichbits.study.read import parse_study

STUDY = parse_study(
    """
name: tiny
engine_version: 0.25.1
every_arm: {engine: vllm, model: qwen2.5-7b, max_model_len: 2048}
arms:
  w8a8:  {weight_format: w8a8-fp8}
  w4a16: {weight_format: w4a16}
traffic: {kind: random, input_tokens: 200, output_tokens: 40, range_ratio: 0.5}
loads: [1]
slo: {ttft_ms: 1000, tpot_ms: 60}
plan:
  gpus: {L4: {price_per_hour: 0.7}}
  day: {peak: 30, trough: 0.05}
""",
    "tiny",
)


def planned(study: Study, draws: int = 0, workers: int = 1) -> Answer:
    return plan_study(study, Known(default_constants()), draws, workers, sample=300)


@pytest.fixture(scope="module")
def answer() -> Answer:
    return planned(STUDY, draws=3)


def test_the_cheapest_is_no_dearer_than_any_single_fleet(answer: Answer) -> None:
    assert answer.cheapest is not None
    assert len(answer.single) == 2
    assert answer.cheapest.cost_per_day <= answer.single[0].cost_per_day <= answer.single[1].cost_per_day
    assert all(hour.used <= 0.8 + 1e-9 for hour in answer.cheapest.hours)
    assert answer.binding == ()


def test_intervals_hold_the_best_estimate(answer: Answer) -> None:
    for each in answer.prospects:
        assert each.low is not None
        assert each.high is not None
        assert each.capacity is not None
        assert each.low < each.capacity < each.high
    assert answer.cheapest is not None
    assert answer.cost_low is not None
    assert answer.cost_high is not None
    assert answer.cost_low <= answer.cheapest.cost_per_million_tokens <= answer.cost_high


def test_tighter_slos_never_cost_less(answer: Answer) -> None:
    costs = [each.fleet.cost_per_day if each.fleet else float("inf") for each in answer.what_if]
    assert costs == sorted(costs, reverse=True)


def test_the_front_begins_with_the_cheapest_and_gets_faster(answer: Answer) -> None:
    speeds = [day.tpot_ms_p50 for day in answer.front]
    assert answer.front[0].cost_per_day == pytest.approx(min(day.cost_per_day for day in answer.front))
    assert len(speeds) > 1
    assert speeds == sorted(speeds, reverse=True)


def test_processes_change_nothing() -> None:
    study = STUDY.model_copy(update={"arms": {"w8a8": STUDY.arms["w8a8"]}})
    one, two = (planned(study, 2, workers) for workers in (1, 2))
    assert one.prospects == two.prospects


def test_no_plan_says_which_bound_each_option_breaks() -> None:
    hopeless = STUDY.model_copy(update={"slo": Slo(tpot_ms=5)})
    answer = planned(hopeless)
    assert answer.cheapest is None
    assert answer.cost_low is None
    assert len(answer.binding) == 2
    assert all("TPOT" in each and "5 ms are asked" in each for each in answer.binding)
    assert next(each.bound_by for each in answer.what_if if each.fleet is None) == "tpot_ms"


def test_no_plan_says_when_gpus_run_out() -> None:
    assert STUDY.plan is not None
    offered = {"L4": STUDY.plan.gpus["L4"].model_copy(update={"at_most": 1})}
    scarce = STUDY.model_copy(update={"plan": STUDY.plan.model_copy(update={"gpus": offered})})
    answer = planned(scarce)
    assert answer.cheapest is None
    assert all("of which 1 can be had" in each for each in answer.binding)


def test_what_cannot_be_served_is_named_and_the_rest_is_planned() -> None:
    big = STUDY.arms["w8a8"].model_copy(update={"weight_format": "fp16", "model": "qwen2.5-32b"})
    study = STUDY.model_copy(update={"arms": {"big": big, "w4a16": STUDY.arms["w4a16"]}})
    answer = planned(study)
    assert [(each.name, each.code) for each in answer.refused] == [("big on L4", "does_not_fit")]
    assert answer.cheapest is not None
    assert answer.cheapest.name == "w4a16 on L4"


@pytest.mark.parametrize("missing", ["plan", "slo"])
def test_what_is_missing_is_named(missing: str) -> None:
    with pytest.raises(BadInput, match=missing) as caught:
        planned(STUDY.model_copy(update={missing: None}))
    assert caught.value.code == "nothing_to_plan"


def test_a_trace_gives_lengths(tmp_path: Path) -> None:
    trace = tmp_path / "burst.csv"
    rows = "\n".join(f"{at * 60},ChatGPT,300,50,350,Conversation log" for at in range(100))
    trace.write_text("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n" + rows + "\n")
    answer = planned(_with_trace(trace))
    assert set(answer.demand.sample.prompt_tokens) == {300}
    assert answer.demand.mean_output_tokens == 50


def test_a_trace_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.csv").write_text("a,b\n1,2\n")
    for name in ("no.csv", "missing.csv"):
        with pytest.raises(BadInput) as caught:
            planned(_with_trace(tmp_path / name))
        assert caught.value.code == "trace_unusable"


def _with_trace(path: Path) -> Study:
    assert STUDY.plan is not None
    return STUDY.model_copy(
        update={"plan": STUDY.plan.model_copy(update={"trace": str(path)}), "arms": {"w8a8": STUDY.arms["w8a8"]}}
    )


def test_replicas_that_share_a_gpu_at_home_are_planned_with_gpus_of_their_own() -> None:
    known, plan = Known(default_constants()), STUDY.plan
    assert plan is not None
    sharing = {
        name: arm.model_copy(update={"replicas": 2, "gpus": (0,), "gpu_memory_utilization": 0.9})
        for name, arm in STUDY.arms.items()
    }
    own = {name: arm.model_copy(update={"gpu_memory_utilization": 0.9}) for name, arm in STUDY.arms.items()}

    found = options_of(STUDY.model_copy(update={"arms": sharing}), plan, known)

    assert found == options_of(STUDY.model_copy(update={"arms": own}), plan, known)
    assert len(found[0]) == 2

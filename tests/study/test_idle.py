"""Keys that would change nothing are refused, with their line and what keeps them from working."""

import pytest

from whichbits.conduct.order import visits
from whichbits.errors import BadInput
from whichbits.study.model import Study
from whichbits.study.read import parse_study

ARMS = "name: s\narms: {a: {weight_format: fp16, model: m}, b: {weight_format: w4a16, model: m}}\n"
CHAT = "traffic: {kind: chat}\n"
SESSIONS = "traffic: {kind: sessions, %s}\n"
CLOSED = "loads: [1, 8]\n"
OPEN = "loads: [{request_rate: 2}]\n"
BOTH = "loads: [1, {request_rate: 2}]\n"
AUTO = "loads: auto\n"
PLAN = "slo: {ttft_ms: 500}\nplan: {gpus: {L4: {price_per_hour: 1}}, day: {peak: 2}%s}\n"
ALONE = "name: s\narms: {a: {weight_format: fp16, model: m}}\n"


def complaint(text: str) -> str:
    with pytest.raises(BadInput) as caught:
        parse_study(text, "s.yaml")
    assert caught.value.code == "study_key_idle"
    return caught.value.what


@pytest.mark.parametrize(
    ("study", "said"),
    [
        (ARMS + CHAT + CLOSED + "arrivals: {kind: gamma, burstiness: 0.5}\n", "line 5: arrivals: no load has"),
        (ARMS + CHAT + AUTO + "arrivals: constant\n", "line 5: arrivals: no load has"),
        (
            ARMS + "traffic: {kind: run, path: r}\n" + OPEN + "arrivals: constant\n",
            "line 5: arrivals: traffic of a run",
        ),
        (ARMS + CHAT + BOTH + "cell: {requests: 8, per_stream: 2}\n", "line 5: cell.per_stream: cell.requests says"),
        (ARMS + CHAT + CLOSED + "cell: {seconds: 10}\n", "line 5: cell.seconds: no load has"),
        (ARMS + CHAT + OPEN + "cell: {per_stream: 10}\n", "line 5: cell.per_stream: every load has"),
        (
            ARMS + CHAT + OPEN + "cell: {seconds: 9}\narrivals: {kind: stages, stages: [{share: 1, seconds: 2}]}\n",
            "line 5: cell.seconds: arrivals in stages",
        ),
        (ARMS + "traffic: {kind: run, path: r}\n" + OPEN + "cell: {at_most: 5}\n", "line 5: cell.at_most: traffic of"),
        (ARMS + CHAT + CLOSED + "budget: 1h\n", "line 5: budget: nothing is searched"),
        (ARMS + CHAT + CLOSED + "repeats: 3\nprecision: 0.05\n", "line 6: precision: nothing is searched"),
        (ARMS + CHAT + CLOSED + "search_metrics: [ttft_ms.p50]\n", "line 5: search_metrics: nothing is searched"),
        (ALONE + CHAT + CLOSED + "arms_together: true\n", "line 5: arms_together: one arm"),
        (ARMS + CHAT + CLOSED + "arrivals: constant\n" + PLAN % ", trace: t", "line 5: arrivals: no load has"),
        (ARMS + SESSIONS % "think_sigma: 2" + CLOSED, "line 3: traffic.think_sigma: only `think: log_normal`"),
        (ARMS + SESSIONS % "think_seconds: 0, think: constant" + CLOSED, "line 3: traffic.think: with think_seconds"),
        (
            ARMS + "traffic: {kind: sharegpt, path: p, think_seconds: 1}\n" + CLOSED + "request: {prompt: text}\n",
            "line 3: traffic.think_seconds: first questions",
        ),
        (ARMS + CHAT + CLOSED + "quality: {task_questions: 5}\n", "line 5: quality.task_questions: quality.tasks"),
        (ARMS + CHAT + CLOSED + "plan: {gpus: {L4: {price_per_hour: 1}}, day: {trough: 0.5}}\n", "plan.day.trough"),
        (ARMS + CHAT + CLOSED + "every_arm: {balance: random}\n", "line 5: every_arm.balance: no arm has more"),
        (ARMS.replace("fp16,", "fp16, balance: random,") + CHAT + CLOSED, "line 2: arms.a.balance: no arm has more"),
        (ARMS + CHAT + CLOSED + "every_arm: {engine: mock, python: /p}\n", "line 5: every_arm.python: the mock runs"),
    ],
)
def test_a_key_without_effect_is_refused_with_its_line(study: str, said: str) -> None:
    assert said in complaint(study)


def test_several_are_said_at_once_and_each_once() -> None:
    said = complaint(ARMS + CHAT + CLOSED + "budget: 1h\nevery_arm: {balance: random}\narrivals: constant\n")
    assert [line.split(":")[0].strip() for line in said.splitlines()[1:]] == ["line 7", "line 5", "line 6"]


@pytest.mark.parametrize(
    "more",
    [
        OPEN + "arrivals: {kind: gamma, burstiness: 0.5}\ncell: {seconds: 10}\n",
        BOTH + "arrivals: constant\ncell: {seconds: 10, per_stream: 2}\n",
        CLOSED + "arrivals: poisson\nbudget: 1200\ncell: {seconds: 30}\n",
        CLOSED + "repeats: auto\nbudget: 20min\nprecision: 0.05\n",
        AUTO + "budget: 20min\nsearch_metrics: [ttft_ms.p50]\n",
        CLOSED + "arms_together: true\nevery_arm: {replicas: 2, balance: random}\n",
        CLOSED + "arrivals: {kind: gamma, burstiness: 0.5}\n" + PLAN % "",
    ],
)
def test_what_works_and_defaults_that_are_written_out_pass(more: str) -> None:
    assert parse_study(ARMS + CHAT + more, "s.yaml").name == "s"


@pytest.mark.parametrize("more", [CLOSED + "repeats: 3\n", CLOSED + "repeats: auto\n", AUTO])
def test_one_arm_may_stay_up_over_repeats_and_through_a_search(more: str) -> None:
    study = parse_study(ALONE + CHAT + more + "arms_together: true\n", "s.yaml")
    assert len(visits(study)) == 1


def test_a_study_that_a_run_recorded_is_read_whatever_it_holds() -> None:
    recorded = parse_study(ARMS + CHAT + OPEN + "arrivals: constant\n", "s.yaml").model_dump(mode="json")
    closed = recorded | {"loads": [{"concurrency": 1}]}
    assert Study.model_validate(closed).arrivals.kind == "constant"

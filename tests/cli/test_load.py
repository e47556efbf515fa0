"""``whichbits load``: flags to a study, errors, and one real load on a mock."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.serve.mock.wire import mock
from whichbits.cli import exit_code
from whichbits.cli.asked_load import AskedLoad, load_study
from whichbits.errors import BadInput
from whichbits.study.drawn_traffic import ChatTraffic
from whichbits.study.model import Load, Study
from whichbits.study.read import parse_study

URL = "http://127.0.0.1:9"


def study(**flags: Any) -> Study:
    return load_study(AskedLoad(**{"url": URL, "model": "m"} | flags))


def test_flags_make_an_ordinary_study_of_one_arm_that_runs() -> None:
    made = study(concurrency="1,8,64", input_tokens=32, output_tokens=16, requests=10, repeats=3)

    (arm,) = made.arms.values()
    assert arm.target is not None
    assert arm.target.urls == (URL,)
    assert (arm.weight_format, arm.engine, arm.served_model_name) == ("unknown", "openai", "m")
    assert made.loads == tuple(Load(concurrency=streams) for streams in (1, 8, 64))
    assert made.traffic.model_dump() | {"kind": "random", "input_tokens": 32} == made.traffic.model_dump()
    assert (made.cell.requests, made.repeats) == (10, 3)


def test_rates_may_have_a_cap_and_last_some_seconds() -> None:
    made = study(rate="0.5,2", concurrency="4", seconds=5)

    assert made.loads == (Load(request_rate=0.5, concurrency=4), Load(request_rate=2, concurrency=4))
    assert made.cell.seconds == 5


def test_loads_are_numbers_as_people_write_them() -> None:
    assert study(rate="1e-2,2e0").loads == (Load(request_rate=0.01), Load(request_rate=2))
    assert study(concurrency="010, 8").loads == (Load(concurrency=10), Load(concurrency=8))


def test_prefixes_and_the_chat_api_have_the_forms_that_studies_give_them() -> None:
    made = study(prefix_tokens=100, prefixes=3, input_tokens=7, api="chat", forced_length=False)

    assert made.traffic.model_dump() == {
        "kind": "prefix_repetition",
        "prefix_tokens": 100,
        "suffix_tokens": 7,
        "prefixes": 3,
        "output_tokens": 32,
    }
    assert made.request.model_dump() == {"api": "chat", "prompt": "text", "forced_length": False}


def test_any_key_of_the_study_file_can_be_set() -> None:
    made = study(more=("slo={ttft_ms: 500}", "seed=7"), traffic="{kind: chat, output_tokens: 9}")

    assert made.slo is not None
    assert isinstance(made.traffic, ChatTraffic)
    assert (made.slo.ttft_ms, made.seed, made.traffic.output_tokens) == (500, 7, 9)


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"url": None}, "load_without_url"),
        ({"url": "localhost:8000"}, "load_url_unusable"),
        ({"concurrency": "1,x"}, "load_numbers"),
        ({"concurrency": "0"}, "study_invalid"),
        ({"rate": "1", "concurrency": "1,2"}, "load_caps"),
        ({"seconds": 3.0}, "load_seconds_without_rate"),
        ({"rate": "1", "seconds": 3.0, "requests": 5}, "load_flags_contradict"),
        ({"traffic": "{kind: chat}", "input_tokens": 5}, "load_flags_contradict"),
        ({"prefix_tokens": 5, "range_ratio": 0.5}, "load_flags_contradict"),
        ({"traffic": "{kind: [", "model": "m"}, "load_flag_not_yaml"),
        ({"traffic": "{kind: chatt}"}, "study_invalid"),
        ({"more": ("seed",)}, "load_set_unreadable"),
        ({"more": ("traffic={kind: random}",), "input_tokens": 5}, "load_flags_contradict"),
        ({"more": ("cell={requests: 3}",), "requests": 5}, "load_flags_contradict"),
        ({"more": ("arms={a: {weight_format: fp16}}",)}, "load_flags_contradict"),
        ({"rate": "nan"}, "load_numbers"),
        ({"engine": "openai", "api_key_variable": "NO_SUCH_KEY_HERE", "model": None}, "api_key_missing"),
    ],
)
def test_flags_that_make_no_study_are_refused(flags: dict[str, Any], code: str) -> None:
    with pytest.raises(BadInput) as refused:
        study(**flags)

    assert refused.value.code == code


def test_a_server_that_is_not_there_is_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["load", URL]) == 3
    assert "server_unreachable" in capsys.readouterr().err


def test_a_dry_run_prints_the_study_and_drives_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with mock(model="found/by-asking") as served:
        flags = ["--concurrency", "2", "--output-tokens", "5", "--api", "chat", "--set", "slo={ttft_ms: 9}"]
        assert exit_code(["load", f"http://127.0.0.1:{served.port}/v1", *flags, "--dry-run"]) == 0
        assert served.truth() == []
    said = capsys.readouterr().out

    again = parse_study(said, "what it printed")
    assert yaml.safe_load(said)["arms"]["server"]["model"] == "found/by-asking"
    assert again.loads == (Load(concurrency=2),)
    assert again.request.api == "chat"
    assert again.slo is not None


def test_a_load_leaves_a_run_whose_books_balance_and_which_names_the_mock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mock(cadence="steps", ttft_ms=20, itl_ms=12) as served:
        url = f"http://127.0.0.1:{served.port}"
        flags = ["--concurrency", "2,4", "--requests", "8", "--output-tokens", "6", "--output", str(tmp_path)]
        code = exit_code(["load", url, *flags, "--json", "--plain"])
        true = [request for request in served.truth() if request.outcome == "done"]
    out, err = capsys.readouterr()

    summary = json.loads(out)
    # A busy machine may make the client late, which is exit 6 and no fault of ours.
    assert code in (0, 6)
    assert [(cell["concurrency"], cell["requests"], cell["failed"]) for cell in summary["cells"]] == [
        (2, 8, 0),
        (4, 8, 0),
    ]
    codes = [finding["code"] for finding in summary["findings"]]
    assert codes[0] == "arm_is_mock"
    assert not {"books_disagree", "other_traffic", "claim_not_proven"} & set(codes)
    assert sum(cell["output_tokens"] for cell in summary["cells"]) == 96
    assert len(true) > 16  # those and the warm-up's
    assert "arm_is_mock" in err
    assert "client" in err
    (run,) = tmp_path.iterdir()
    assert (run / "report.html").exists()
    assert summary["arms"]["server"]["weight_format"] == "unknown"


def test_requests_that_fail_are_exit_4(tmp_path: Path) -> None:
    warm_up = "warm_up={at_least_requests: 2, at_most_requests: 2}"  # two rounds, requests 0 to 3
    with mock(faults="error=2@4,6", itl_ms=1) as served:
        flags = ["--concurrency", "2", "--requests", "6", "--output-tokens", "4", "--output", str(tmp_path), "--plain"]
        assert exit_code(["load", f"http://127.0.0.1:{served.port}", *flags, "--set", warm_up]) == 4


def test_a_self_test_takes_no_address_and_needs_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["load", URL, "--self-test"]) == 2
    for beside in (["--requests", "5"], ["--dry-run"], ["--output", "runs"], ["--set", "seed=1"]):
        assert exit_code(["load", "--self-test", *beside]) == 2
    assert capsys.readouterr().err.count("self_test_alone") == 5
    for seconds in ("0", "nan", "inf"):
        assert exit_code(["load", "--self-test", "--seconds", seconds]) == 2
    assert capsys.readouterr().err.count("self_test_seconds") == 3


def test_a_self_test_says_what_this_machine_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    code = exit_code(["load", "--self-test", "--seconds", "1", "--json"])
    out, err = capsys.readouterr()

    found = json.loads(out)
    assert found["schema_version"] == 1
    assert found["bounds_ms"] == {"exact": 1.0, "coarse": 5.0}
    assert set(found["ends"]) == {"spread", "steps"}
    assert {rung["cadence"] for rung in found["rungs"]} == {"spread", "steps"}
    assert all(rung["failed"] == 0 and rung["errors"] is not None for rung in found["rungs"])
    assert code == (0 if found["verdicts_right"] else 6)
    assert all(sentence in err for sentence in found["sentences"])

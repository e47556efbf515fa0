"""Arms of a study, looked at before anything starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from whichbits.cli import exit_code
from whichbits.doctor.arms import check_arms, check_targets
from whichbits.doctor.diagnosis import Patient
from whichbits.doctor.examine import examine
from whichbits.study.model import Study

NOBODY_LISTENS = "http://127.0.0.1:9"


def study(arm: dict[str, Any], **keys: Any) -> Study:
    return Study.model_validate({"name": "s", "arms": {"a": arm}, "traffic": {"kind": "chat"}, "loads": [1], **keys})


def vllm(tmp_path: Path, **files: str) -> dict[str, Any]:
    folder = tmp_path / "model"
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return {"weight_format": "bf16", "model": str(folder), "engine": "vllm"}


QWEN = json.dumps(
    {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
        "torch_dtype": "bfloat16",
    }
)


def test_a_checkpoint_without_a_tokenizer(tmp_path: Path) -> None:
    found = {each.code: each.state for each in check_arms(Patient((), study(vllm(tmp_path, config__json=QWEN))))}
    assert found["tokenizer_missing"] == "problem"


def test_the_kernel_and_the_kv_cache_on_the_card_that_the_study_names(tmp_path: Path) -> None:
    arm = vllm(tmp_path, config__json=QWEN, tokenizer__json="{}")
    found = {each.code: each for each in check_arms(Patient((), study(arm, gpu="L4")))}
    assert found["arm_fits"].state == "good"
    assert "14.2 GiB of weights" in found["arm_fits"].found


def test_weights_that_do_not_fit_the_card(tmp_path: Path) -> None:
    arm = vllm(tmp_path, config__json=QWEN.replace("bfloat16", "float16"), tokenizer__json="{}")
    fitting = arm | {"weight_format": "fp16"}
    found = {each.code: each.state for each in check_arms(Patient((), study(fitting, gpu="T4")))}
    assert found["does_not_fit"] == "problem"


def test_a_hub_that_may_not_be_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    arm = {"weight_format": "bf16", "model": "Qwen/Qwen2.5-7B-Instruct", "engine": "vllm"}
    assert "hub_offline" in {each.code for each in check_arms(Patient((), study(arm)))}


def test_a_hub_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HUB_OFFLINE", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", NOBODY_LISTENS)
    arm = {"weight_format": "bf16", "model": "Qwen/Qwen2.5-7B-Instruct", "engine": "vllm"}
    assert "hub_unreachable" in {each.code for each in check_arms(Patient((), study(arm)))}


def test_a_server_that_runs_no_more() -> None:
    arm = {"weight_format": "bf16", "model": "m", "engine": "openai", "target": {"urls": [NOBODY_LISTENS]}}
    assert [(each.code, each.state) for each in check_targets(Patient((), study(arm)))] == [("target_dead", "problem")]


def test_a_check_that_breaks_keeps_no_other_from_speaking(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Patient) -> list[Any]:
        raise RuntimeError("no such file as /proc")

    monkeypatch.setattr("whichbits.doctor.examine.check_machine", broken)
    found = {each.code: each for each in examine(None)}
    assert found["check_broke"].state == "unknown"
    assert "no such file as /proc" in found["check_broke"].found
    assert "no_gpu" in found or "gpu" in found


def test_the_command_says_so_in_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "name: s\n"
        f"arms: {{a: {{weight_format: bf16, model: m, engine: openai, target: {{urls: ['{NOBODY_LISTENS}']}}}}}}\n"
        "traffic: {kind: chat}\nloads: [1]\n"
    )
    assert exit_code(["doctor", str(file), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["problem"] == 1
    assert next(each for each in told["diagnoses"] if each["state"] == "problem")["fix"]

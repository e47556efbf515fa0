"""The files of an arm's checkpoint, before vLLM stumbles over them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.models import qwen, study
from whichbits.doctor.checkpoints import check_files, local_model
from whichbits.doctor.diagnosis import Diagnosis, Patient
from whichbits.study.arm import Arm

CHATS = {"request": {"api": "chat", "prompt": "text"}}


def said(arm: dict[str, Any], **keys: Any) -> dict[str, Diagnosis]:
    return {each.code: each for each in check_files(Patient((), study(arm, **keys)))}


def test_a_whole_checkpoint_needs_no_word(tmp_path: Path) -> None:
    assert said(qwen(tmp_path / "m")) == {}
    assert said(qwen(tmp_path / "n"), **CHATS) == {}


def test_a_checkpoint_without_a_tokenizer(tmp_path: Path) -> None:
    arm = qwen(tmp_path / "m")
    (tmp_path / "m/tokenizer.json").unlink()
    assert said(arm)["tokenizer_missing"].state == "problem"


def test_a_checkpoint_without_a_chat_template_matters_to_chats_only(tmp_path: Path) -> None:
    arm = qwen(tmp_path / "m")
    (tmp_path / "m/tokenizer_config.json").write_text("{}")
    assert said(arm) == {}
    assert said(arm, **CHATS)["chat_template_missing"].state == "problem"
    assert said(arm | {"options": {"chat-template": "mine.jinja"}}, **CHATS) == {}
    (tmp_path / "m/chat_template.jinja").write_text("{{ messages }}")
    assert said(arm, **CHATS) == {}


def test_a_download_that_was_cut_short(tmp_path: Path) -> None:
    arm = qwen(tmp_path / "m") | {"load_format": "auto"}
    assert said(arm)["checkpoint_incomplete"].found.endswith("m lacks weights")
    shards = {"a.weight": "model-1.safetensors", "b.weight": "model-2.safetensors"}
    (tmp_path / "m/model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    (tmp_path / "m/model-1.safetensors").write_text("")
    assert "1 of 2 shards (model-2.safetensors)" in said(arm)["checkpoint_incomplete"].found
    (tmp_path / "m/model-2.safetensors").write_text("")
    assert said(arm) == {}
    (tmp_path / "m/config.json").unlink()
    assert "lacks config.json" in said(arm)["checkpoint_incomplete"].found


def test_arms_of_other_engines_and_servers_that_run_are_left_alone() -> None:
    running = {"weight_format": "bf16", "model": "m", "engine": "vllm", "target": "http://127.0.0.1:9"}
    assert said(running) == {}
    assert said({"weight_format": "fp16", "model": "m", "engine": "mock"}) == {}


def test_a_copy_from_the_hub_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--Qwen--Qwen2.5-7B"
    qwen(repository / "snapshots/c0ffee")
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text("c0ffee")
    arm = Arm(weight_format="bf16", model="Qwen/Qwen2.5-7B", engine="vllm")
    assert local_model(arm) == str(repository / "snapshots/c0ffee")
    assert local_model(arm.model_copy(update={"model": "Qwen/Qwen3-8B"})) == "Qwen/Qwen3-8B"

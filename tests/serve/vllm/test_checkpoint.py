"""Where a checkpoint lies on this machine, and what is known of one that does not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.serve.vllm.test_proof import GPTQ, SHAPE
from whichbits.errors import BadInput
from whichbits.serve.vllm.checkpoint import checkpoint_facts, checkpoint_folder
from whichbits.study.arm import Arm


def arm(model: str, **keys: Any) -> Arm:
    return Arm.model_validate({"weight_format": "bf16", "engine": "vllm", "model": model} | keys)


def snapshot(hub: Path, name: str, commit: str, *, main: bool = True) -> Path:
    """Write what a download leaves in the hub's cache."""
    repository = hub / f"models--{name.replace('/', '--')}"
    folder = repository / "snapshots" / commit
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(SHAPE), encoding="utf-8")
    if main:
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(commit + "\n")
    return folder


def test_a_folder_is_itself(tmp_path: Path) -> None:
    assert checkpoint_folder(arm(str(tmp_path)), {}) == tmp_path


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"])
def test_a_fetched_name_is_found_where_the_hub_keeps_it(tmp_path: Path, variable: str) -> None:
    hub = tmp_path / {"HF_HUB_CACHE": "", "HF_HOME": "hub", "XDG_CACHE_HOME": "huggingface/hub"}[variable]
    folder = snapshot(hub, "Qwen/Qwen2.5-7B", "abc123")

    assert checkpoint_folder(arm("Qwen/Qwen2.5-7B"), {variable: str(tmp_path)}) == folder


def test_the_arms_environment_and_revision_decide(tmp_path: Path) -> None:
    folder = snapshot(tmp_path, "Qwen/Qwen2.5-7B", "abc123", main=False)
    asked = arm("Qwen/Qwen2.5-7B", environment={"HF_HUB_CACHE": str(tmp_path)}, options={"revision": "abc123"})

    assert checkpoint_folder(asked, {"HF_HUB_CACHE": "/elsewhere"}) == folder
    assert checkpoint_folder(arm("Qwen/Qwen2.5-7B"), {"HF_HUB_CACHE": str(tmp_path)}) is None


def test_a_path_to_nothing_is_refused_before_anything_starts() -> None:
    with pytest.raises(BadInput) as refused:
        checkpoint_folder(arm("/nowhere/model"), {})

    assert refused.value.code == "vllm_model_missing"


@pytest.mark.parametrize("model", ["/nowhere/model", "./model"])
def test_a_path_on_another_machine_is_not_known_here(model: str) -> None:
    assert checkpoint_folder(arm(model, target="http://other:8000"), {}) is None


def test_a_bucket_is_not_known_here() -> None:
    assert checkpoint_folder(arm("s3://bucket/models/q25"), {}) is None


def test_the_facts_name_their_folder_and_do_not_speak_for_the_server(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SHAPE | {"quantization_config": GPTQ}), encoding="utf-8")

    facts = checkpoint_facts(tmp_path)

    assert {fact.source for fact in facts.values()} == {str(tmp_path)}
    shown = {name: facts[name].value for name in ("checkpoint_dtype", "checkpoint_source", "linear_bits", "layers")}
    assert shown == {"checkpoint_dtype": "bfloat16", "checkpoint_source": "config", "linear_bits": 4, "layers": 28}
    assert "dtype" not in facts
    assert "activation_bits" not in facts


def test_a_folder_in_another_format_is_left_to_vllm_and_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "params.json").write_text("{}", encoding="utf-8")

    facts = checkpoint_facts(tmp_path)

    assert set(facts) == {"checkpoint_unread"}
    assert "config.json" in str(facts["checkpoint_unread"].value)

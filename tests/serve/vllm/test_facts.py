"""What a vLLM says of itself over HTTP and in its log, and where each fact stands."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from whichbits.record.schema import Fact
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.vllm.facts import cache_facts, log_facts, server_facts

NEW = (
    'vllm:cache_config_info{block_size="128",cache_dtype="auto",enable_prefix_caching="True",engine="0",'
    'gpu_memory_utilization="0.92",kv_cache_max_concurrency="1024.0",kv_cache_size_tokens="2097152",'
    'num_gpu_blocks="16384",sliding_window="None"} 1.0\n'
)
OLD = 'vllm:cache_config_info{block_size="16",enable_prefix_caching="False",num_gpu_blocks="None"} 1.0\n'
INFO = {
    "vllm_config": {
        "model_config": {"dtype": "torch.bfloat16", "quantization": None, "enforce_eager": True, "max_model_len": 2048},
        "scheduler_config": {"max_num_seqs": 256, "max_num_batched_tokens": 8192},
        "parallel_config": {"tensor_parallel_size": 2},
    }
}
ANSWERS = {
    "/version": json.dumps({"version": "0.32.0"}),
    "/v1/models": json.dumps({"data": [{"id": "m", "max_model_len": 2048}]}),
    "/metrics": NEW,
    "/server_info": json.dumps(INFO),
}


@pytest.fixture
async def answering() -> AsyncIterator[tuple[dict[str, str], ControlClient]]:
    """A server that answers what the dictionary holds, and 404 to the rest."""
    answers: dict[str, str] = {}

    async def answer(request: web.Request) -> web.Response:
        text = answers.get(request.path)
        return web.Response(status=404) if text is None else web.Response(text=text)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    async with TestServer(application) as server, ControlClient(str(server.make_url("")).rstrip("/")) as control:
        yield answers, control


def values(facts: dict[str, Fact]) -> dict[str, Any]:
    return {name: fact.value for name, fact in facts.items()}


async def test_a_server_in_development_mode_tells_all(answering: tuple[dict[str, str], ControlClient]) -> None:
    answers, control = answering
    answers.update(ANSWERS)

    facts = await server_facts(control)

    assert values(facts) == {
        "engine_version": "0.32.0",
        "max_model_len": 2048,
        "kv_cache_tokens": 2097152,
        "max_concurrency": 1024.0,
        "gpu_blocks": 16384,
        "block_size": 128,
        "enable_prefix_caching": True,
        "gpu_memory_utilization": 0.92,
        "dtype": "bfloat16",
        "quantization": None,
        "enforce_eager": True,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 8192,
        "tensor_parallel_size": 2,
    }
    assert facts["kv_cache_tokens"] == Fact(2097152, "GET /metrics", "vllm:cache_config_info")
    assert facts["dtype"].source == "GET /server_info?config_format=json"


async def test_what_a_server_does_not_tell_is_absent(answering: tuple[dict[str, str], ControlClient]) -> None:
    answers, control = answering
    answers["/version"] = ANSWERS["/version"]
    answers["/server_info"] = json.dumps({"vllm_config": "model='m', dtype=torch.bfloat16"})  # up to 0.8.5
    answers["/v1/models"] = "<html>"

    assert values(await server_facts(control)) == {"engine_version": "0.32.0"}


def test_blocks_that_are_not_counted_yet_are_no_size() -> None:
    assert values(cache_facts(OLD)) == {"block_size": 16, "enable_prefix_caching": False}


def test_the_pools_of_data_parallel_engines_add_up() -> None:
    facts = values(cache_facts(NEW + NEW.replace('engine="0"', 'engine="1"')))

    assert (facts["kv_cache_tokens"], facts["gpu_blocks"], facts["block_size"]) == (2 * 2097152, 2 * 16384, 128)


def test_facts_of_a_log_keep_their_lines_and_lists_become_text() -> None:
    kernel = (
        "INFO 11-29 14:58:19 [__init__.py:631] Selected CutlassFP8ScaledMMLinearKernel for CompressedTensorsW8A8Fp8"
    )
    version = "INFO 11-29 14:57:52 [api_server.py:1] vLLM API server version 0.25.1"

    facts = log_facts(f"{version}\n{kernel}\n")

    assert facts["engine_version"].value == "0.25.1"
    assert facts["quant_kernels"] == Fact("CutlassFP8ScaledMMLinearKernel", "server log", kernel)
    assert facts["quant_kernel_for"].value == "CompressedTensorsW8A8Fp8: CutlassFP8ScaledMMLinearKernel"


def test_a_log_that_says_nothing_has_no_facts() -> None:
    assert log_facts("") == {}


def test_metrics_of_something_else_tell_nothing() -> None:
    assert cache_facts("process_open_fds 7\n") == {}


def test_layers_with_a_dash_in_their_name_are_one_kind() -> None:
    said = [
        "INFO 11-29 21:43:00 [__init__.py:923] Using CPUWNA16LinearKernel for mixed-precision linear",
        "INFO 11-29 21:43:00 [auto_gptq.py:352] Using CPUWNA16LinearKernel for AutoGPTQLinearMethod",
        "INFO 11-29 21:43:01 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with config: model='m', seed=0",
    ]

    kernels = log_facts("\n".join(said))["quant_kernel_for"].value

    assert kernels == "AutoGPTQLinearMethod: CPUWNA16LinearKernel, mixed-precision linear: CPUWNA16LinearKernel"

"""How many requests of a size a server holds: hand-worked pools and caps."""

from typing import Any

import pytest

from whichbits.serve.fit import fit


@pytest.mark.parametrize(
    ("facts", "mean", "engine", "expected"),
    [
        # 102288 / 438 = 233.5
        ({"kv_cache_tokens": 102_288}, 438, "vllm", (233, None, None)),
        ({"kv_cache_tokens": 102_288, "max_num_seqs": 256}, 438, "vllm", (233, 233, "kv_cache")),
        ({"kv_cache_tokens": 102_288, "max_num_seqs": 64}, 438, "vllm", (233, 64, "max_num_seqs")),
        # two engines: pools are summed in the log's facts, caps are one engine's
        ({"kv_cache_tokens": 200_000, "max_num_seqs": 64, "data_parallel_size": 2}, 1000, "vllm",
         (200, 128, "max_num_seqs")),
        # SGLang prints the pool of one engine: 2 x 50000 / 1000
        ({"kv_cache_tokens": 50_000, "max_num_seqs": 64, "data_parallel_size": 2}, 1000, "sglang",
         (100, 100, "kv_cache")),
        # hybrid: 33.04 x 32768 = 1082654 tokens are implied; each request takes ceil(1000/544) = 2 blocks of 544
        ({"kv_cache_tokens_effective": 1_082_654, "kv_cache_tokens_logged": 290_864, "attention_block_size": 544},
         1000, "vllm", (995, None, None)),
        ({"kv_cache_tokens_derived": 32_000}, 999.5, "vllm", (32, None, None)),
        ({"kv_cache_tokens": 8192, "slots": 4}, 512.0, "llama.cpp", (16, 4, "slots")),
    ],
)  # fmt: skip
def test_fit(facts: dict[str, Any], mean: float, engine: str, expected: tuple[Any, ...]) -> None:
    found = fit(facts, mean, engine=engine)

    assert found["mean_tokens"] == mean
    assert (found["requests_that_fit"], found["requests_at_once"], found["limited_by"]) == expected


@pytest.mark.parametrize("mean", [0, -1, float("nan"), float("inf")])
def test_no_size_no_answer(mean: float) -> None:
    assert fit({"kv_cache_tokens": 5}, mean, engine=None) == {}


def test_an_engine_that_tells_no_pool_gets_no_answer() -> None:
    assert fit({"max_num_seqs": 5, "kv_cache_tokens_per_engine": 100}, 10, engine="vllm") == {}

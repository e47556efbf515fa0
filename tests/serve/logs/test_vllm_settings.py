"""A count in vLLM's own settings is a count or nothing, whatever a torn line holds in its place."""

import pytest

from whichbits.serve.logs.read import recognise

LOG = (
    "INFO 11-29 15:01:21 [core.py:114] Initializing a V1 LLM engine (v0.25.1) with config: model='/m', "
    "dtype=torch.bfloat16, max_seq_len={value}, tensor_parallel_size={value}, data_parallel_size={value}, seed=0\n"
    "INFO 11-29 15:01:21 [kv_cache_utils.py:9] GPU KV cache size: 1,000 tokens\n"
    "INFO 11-29 15:01:21 [kv_cache_utils.py:9] Maximum concurrency for 100 tokens per request: 10.00x\n"
)


@pytest.mark.parametrize("value", ["'two'", "x.y", "-1", "0", "[1", "1.5", "True", "{}", "1e400", "''"])
def test_what_is_no_count_is_no_fact(value: str) -> None:
    found = recognise("", LOG.format(value=value))

    assert found is not None
    assert found.facts["kv_cache_tokens"] == 1000
    assert not {"max_model_len", "tensor_parallel_size", "data_parallel_size"} & found.facts.keys()


def test_a_count_is_a_fact() -> None:
    found = recognise("", LOG.format(value="1"))

    assert found is not None
    assert found.facts["data_parallel_size"] == 1

"""What binds an arm, and what is left unsaid where facts are missing."""

from dataclasses import replace

import pytest

from whichbits.analyze.limits.capacity import Demand, Pool, capacity

POOL = Pool(tokens=10_000, memory_gib=1.0, max_model_len=4_000, max_num_seqs=64)
DEMAND = Demand(prompt_tokens=150, output_tokens=50, concurrency=32)


@pytest.mark.parametrize(
    ("pool", "demand", "binds"),
    [
        (POOL, DEMAND, "load"),
        (POOL, replace(DEMAND, concurrency=100), "kv_cache"),
        (replace(POOL, max_num_seqs=16), replace(DEMAND, concurrency=100), "max_num_seqs"),
        (replace(POOL, max_num_seqs=None), replace(DEMAND, concurrency=None), None),
        (POOL, None, None),
    ],
)
def test_the_lowest_limit_binds(pool: Pool, demand: Demand | None, binds: str | None) -> None:
    assert capacity(pool, demand).binds == binds


def test_requests_that_fit_are_counted_at_their_full_length() -> None:
    found = capacity(POOL, DEMAND)

    assert (found.requests_that_fit, found.worst_case_requests) == (50, 2.5)


def test_other_uses_of_memory_are_told_in_tokens_of_kv_cache() -> None:
    found = capacity(replace(POOL, cuda_graph_gib=0.25, activation_gib=0.5), None)

    assert found.cuda_graph_tokens == pytest.approx(2_500)
    assert found.activation_tokens == pytest.approx(5_000)


def test_the_models_shape_gives_bytes_per_token_and_memory_only_without_it() -> None:
    """Seen with num_gpu_blocks_override: the pool's memory is printed as it was before, its tokens as they became."""
    assert capacity(replace(POOL, bytes_per_token=163_840), None).kv_bytes_per_token == 163_840
    assert capacity(replace(POOL, memory_gib=None, bytes_per_token=57_344), None).kv_bytes_per_token == 57_344
    assert capacity(POOL, None).kv_bytes_per_token == pytest.approx(2**30 / 10_000)
    assert capacity(replace(POOL, memory_gib=None), None).kv_bytes_per_token is None


def test_memory_on_each_of_several_gpus_holds_its_part_of_every_token() -> None:
    """Two GPUs with 1 GiB each: 10,000 tokens of 2 GiB / 10,000, of which a quarter of a GiB a GPU takes 2,500."""
    for pool in (replace(POOL, gpus=2), replace(POOL, gpus=2, bytes_per_token=2**31 / 10_000)):
        found = capacity(replace(pool, cuda_graph_gib=0.25), None)

        assert found.kv_bytes_per_token == pytest.approx(2**31 / 10_000)
        assert found.cuda_graph_tokens == pytest.approx(2_500)


def test_a_working_set_above_one_cannot_stay() -> None:
    found = capacity(POOL, replace(DEMAND, distinct_prefixes=120, prefix_tokens=100))

    assert (found.prefix_working_set_tokens, found.prefix_working_set_share) == (12_000, 1.2)
    assert capacity(POOL, DEMAND).prefix_working_set_tokens is None

"""Counters of every engine and age in one vocabulary, and what they grew by; absent is never 0."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from whichbits.serve.metrics import (
    ENGINES,
    NAMES,
    EngineCounters,
    Prefix,
    added,
    difference,
    names,
    read_counters,
    read_engines,
    restarted,
)
from whichbits.serve.metrics.counters import lines_of_counters

TWO_CORES = """
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
vllm:prompt_tokens_total{engine="0"} 1836.0
vllm:generation_tokens_total{engine="0"} 40.0
vllm:generation_tokens_total{engine="1"} 45.0
vllm:generation_tokens_created{engine="0"} 1.7959635628512876e+09
vllm:prefix_cache_hits_total{engine="0"} 1024.0
vllm:request_success_total{engine="0",finished_reason="stop"} 1.0
vllm:request_success_total{engine="0",finished_reason="length"} 7.0
vllm:request_success_total{engine="0",finished_reason="abort"} 2.0
vllm:num_requests_running{engine="0"} 2.0
embedded:num_preemptions_total 9
"""

BY_SOURCE = """
vllm:prompt_tokens_total 1836
vllm:prompt_tokens_cached_total 1024
vllm:prompt_tokens_by_source_total{source="local_compute"} 812
vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 1024
"""


def said(text: str) -> dict[str, Any]:
    """What a scrape says, without what it does not say."""
    return {name: value for name, value in asdict(read_counters(text)).items() if value is not None}


def test_counters_of_an_engine_with_two_cores() -> None:
    assert read_counters(TWO_CORES, "vllm:") == EngineCounters(
        prompt_tokens=1836,
        cached_prompt_tokens=1024,
        generation_tokens=85,
        requests_finished=10,
        requests_running=2,
        kv_cache_usage=0.5,
        preemptions=None,
        prefix_hits=1024,
        requests_aborted=2,
        cache_unit="tokens",
        created_s=1.7959635628512876e09,
    )
    assert read_counters(TWO_CORES, "embedded:").preemptions == 9


def test_each_core_counts_for_itself() -> None:
    cores = read_engines(TWO_CORES, "vllm:")

    assert {label: core.generation_tokens for label, core in cores.items()} == {"0": 40, "1": 45}
    assert cores["1"].prompt_tokens is None


def test_ranks_of_one_server_are_one_core_and_data_parallel_ranks_are_several() -> None:
    text = "".join(
        f'sglang:generation_tokens_total{{dp_rank="{dp}",tp_rank="{tp}"}} {5 + dp}\n' for dp in (0, 1) for tp in (0, 1)
    )

    assert read_counters(text).generation_tokens == 11
    assert {label: core.generation_tokens for label, core in read_engines(text).items()} == {"0": 5, "1": 6}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # V0: a gauge of the rate since the start is no counter, and is left alone.
        ("vllm:gpu_prefix_cache_hit_rate 0.5\nvllm:gpu_cache_usage_perc 0.25\nvllm:num_preemptions_total 3",
         {"kv_cache_usage": 0.25, "preemptions": 3}),
        # 0.23 on: prompts by source; cached ones are told apart.
        (BY_SOURCE,
         {"prompt_tokens": 1836, "cached_prompt_tokens": 1024, "computed_prompt_tokens": 812}),
        ("vllm_generation_tokens_total 4\nvllm_num_requests_waiting 2",
         {"generation_tokens": 4, "requests_waiting": 2}),
        ("sglang_num_requests_total 8\nsglang_cached_tokens_total 32\nsglang_max_total_num_tokens 900",
         {"requests_finished": 8, "cached_prompt_tokens": 32, "kv_cache_tokens": 900}),
        ("sglang:num_retracted_requests_total 1\nsglang:num_retracted_reqs 0", {"preemptions": 1}),
        # llama.cpp counts processed prompts only: cached ones are missing from its total.
        ("llamacpp:prompt_tokens_total 90\nllamacpp:tokens_predicted_total 7",
         {"computed_prompt_tokens": 90, "generation_tokens": 7}),
        ("tgi_request_input_length_sum 300\ntgi_request_generated_tokens_sum 12\ntgi_queue_size 1",
         {"prompt_tokens": 300, "generation_tokens": 12, "requests_waiting": 1}),
        ("lmdeploy:cached_tokens_total 16\nlmdeploy:prompt_tokens_total 64",
         {"cached_prompt_tokens": 16, "prompt_tokens": 64}),
        ("embedded:prompt_tokens_total 5\nembedded:num_requests_running 0",
         {"prompt_tokens": 5, "requests_running": 0}),
        ("# HELP vllm:prompt_tokens_total Tokens.\n# TYPE vllm:prompt_tokens_total counter", {}),
        ("process_open_fds 9", {}),
    ],
    ids=[
        "vllm V0", "vllm 0.23", "gateway", "sglang", "retracted", "llama.cpp", "tgi", "lmdeploy", "embedded",
        "declared", "none",
    ],
)  # fmt: skip
def test_every_engine_in_one_vocabulary(text: str, expected: dict[str, Any]) -> None:
    assert said(text + "\n") == expected


def old_prefix_counters(unit: str | None, block_size: int | None) -> str:
    told = f"# HELP vllm:gpu_prefix_cache_hits_total Hits, in terms of cached {unit}.\n" if unit else ""
    size = f'vllm:cache_config_info{{block_size="{block_size}"}} 1\n' if block_size else ""
    return told + size + "vllm:gpu_prefix_cache_hits_total 10\nvllm:gpu_prefix_cache_queries_total 40\n"


@pytest.mark.parametrize(
    ("unit", "block_size", "tokens"),
    [("tokens", None, (10, 40)), ("blocks", 16, (160, 640)), ("blocks", None, None), (None, 16, None)],
)
def test_blocks_become_tokens_only_where_help_and_block_size_are_known(
    unit: str | None, block_size: int | None, tokens: tuple[int, int] | None
) -> None:
    counters = read_counters(old_prefix_counters(unit, block_size))

    assert (counters.prefix_hit_tokens, counters.prefix_query_tokens) == (tokens or (None, None))
    assert counters.cached_prompt_tokens == (tokens or (None,))[0]
    assert counters.hit_rate == 0.25


def test_a_difference_is_unknown_where_a_scrape_is_silent() -> None:
    before = EngineCounters(100, None, 50, 5, 3, 0.5, 0)
    after = EngineCounters(160, 7, 60, 9, 1, 0.25, 0)

    assert difference(before, after) == EngineCounters(60, None, 10, 4, 1, 0.25, 0)


@pytest.mark.parametrize(
    ("before", "after", "anew"),
    [
        (EngineCounters(100, generation_tokens=5), EngineCounters(160, generation_tokens=9), False),
        (EngineCounters(100, generation_tokens=5), EngineCounters(160, generation_tokens=4), True),
        (EngineCounters(100, created_s=1.0), EngineCounters(160, created_s=2.0), True),
        (EngineCounters(100, created_s=1.0), EngineCounters(160, created_s=1.0), False),
        (EngineCounters(100, created_s=1.0), EngineCounters(160), False),
    ],
    ids=["grown", "one count fell", "begun later", "begun at once", "begin unknown"],
)
def test_a_restart_makes_every_growth_unknown(before: EngineCounters, after: EngineCounters, anew: bool) -> None:
    assert restarted(before, after) is anew
    assert difference(before, after).prompt_tokens == (None if anew else 60)


def test_engines_add_up_unless_one_is_silent_or_counts_in_another_unit() -> None:
    tokens = EngineCounters(10, generation_tokens=3, prefix_hits=16, kv_cache_usage=0.5, cache_unit="tokens")
    blocks = replace(tokens, prefix_hits=1, generation_tokens=None, kv_cache_usage=0.1, cache_unit="blocks")

    assert added([tokens, tokens]).prefix_hits == 32
    both = added([tokens, blocks])
    assert (both.prompt_tokens, both.generation_tokens, both.prefix_hits) == (20, None, None)
    assert both.kv_cache_usage == pytest.approx(0.3)
    assert added([]) == EngineCounters()


def test_every_prefix_has_an_engine_and_no_engine_two_meanings_for_one_name() -> None:
    assert set(ENGINES.values()) == set(NAMES)
    for engine, table in NAMES.items():
        spelt = [(name.stem, name.label) for quantity in table for name in names(engine, quantity)]
        assert len(spelt) == len(set(spelt)), engine


def every_name(prefix: Prefix) -> str:
    """Return a scrape with every series that an engine is known for, and with others that counters are not read of."""
    known = [name for spellings in NAMES[ENGINES[prefix]].values() for name in spellings]
    lines = []
    for place, name in enumerate(known, start=1):
        label = "" if name.label is None else f'{{{name.label[0]}="{name.label[1]}"}}'
        lines += [f"# HELP {prefix}{name.stem} Number of tokens", f"{prefix}{name.stem}{label} {place}"]
        lines += [f'{prefix}{name.stem}_bucket{{le="1"}} 7', f"{prefix}{name.stem}_count 9"]
    info = f'{prefix}cache_config_info{{block_size="16",num_gpu_blocks="100"}} 1'
    return "\n".join([*lines, info, f"{prefix}generation_tokens_created 5e9", "python_gc_collections_total 4"])


@pytest.mark.parametrize("prefix", ENGINES)
def test_the_lines_that_counters_are_read_of_tell_the_same_as_the_whole(prefix: Prefix) -> None:
    scrape = every_name(prefix)
    lines = lines_of_counters(scrape)

    assert read_counters(lines) == read_counters(scrape)
    assert read_engines(lines) == read_engines(scrape)
    assert "_bucket" not in lines
    assert "python_" not in lines

"""One vocabulary for what engines count, whatever they and their versions call it; what is not counted is absent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.record.inspection import Inspection
from whichbits.serve.metrics.facts import recognise


def read(text: str) -> Inspection:
    inspection = recognise("metrics.txt", text)
    assert inspection is not None
    assert inspection.kind == "metrics"
    return inspection


@pytest.mark.parametrize(
    ("text", "engine", "facts"),
    [
        ("vllm:num_requests_waiting 3", "vllm", {"num_requests_waiting": 3}),
        ("vllm:prompt_tokens_total 9\nvllm:prompt_tokens_created 1.7e+09", "vllm", {"prompt_tokens": 9}),
        ("vllm:time_per_output_token_seconds_sum 1.5", "vllm", {"itl_sum": 1.5}),
        ("vllm:gpu_cache_usage_perc 0.25", "vllm", {"kv_cache_usage": 0.25}),
        ("vllm:gpu_prefix_cache_hit_rate 0.5", "vllm", {"prefix_hit_rate": 0.5}),
        ("vllm:gpu_prefix_cache_hit_rate -1.0", "vllm", {}),
        ("vllm:iteration_tokens_total_sum 7\nvllm:iteration_tokens_total_count 2", "vllm",
         {"iteration_tokens_sum": 7, "iteration_tokens_count": 2}),
        ("sglang:token_usage 0.5\nsglang:num_used_tokens 90", "sglang", {"kv_cache_usage": 0.5, "kv_tokens_used": 90}),
        ("llamacpp:prompt_tokens_total 90\nllamacpp:prompt_seconds_total 1.5", "llama.cpp",
         {"prompt_tokens": 90, "prompt_seconds": 1.5, "prompt_tps_derived": 60.0}),
        ("tgi_queue_size 4\ntgi_request_skipped_tokens_sum 11", "tgi",
         {"num_requests_waiting": 4, "prefix_cached_tokens": 11}),
        ("lmdeploy:gpu_cache_usage_perc 0.75", "lmdeploy", {"kv_cache_usage": 0.75}),
        ('nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max"} 80', "tensorrt-llm", {"num_gpu_blocks": 80}),
        ("embedded:generation_tokens_total 5", "embedded", {"generation_tokens": 5}),
        ("vllm:max_num_generation_tokens_count 3\nvllm:prompt_tokens 8", "llm-d-inference-sim (vllm names)",
         {"prompt_tokens": 8}),
        ("process_open_fds 9", "unknown", {}),
    ],
)  # fmt: skip
def test_names(text: str, engine: str, facts: dict[str, Any]) -> None:
    inspection = read(text + "\n")

    assert (inspection.engine, inspection.facts) == (engine, facts)


@pytest.mark.parametrize(("unit", "version"), [("blocks", "0.8"), ("tokens", "0.10")])
def test_the_unit_of_the_old_prefix_counters_stands_in_their_help(unit: str, version: str) -> None:
    facts = read(
        f"# HELP vllm:gpu_prefix_cache_queries_total Queries ({version}), in terms of queried {unit}.\n"
        "vllm:gpu_prefix_cache_queries_total 40\nvllm:gpu_prefix_cache_hits_total 10\n"
    ).facts

    assert facts == {
        "prefix_cache_queries": 40, "prefix_cache_hits": 10, "prefix_cache_unit": unit, "prefix_hit_rate": 0.25
    }  # fmt: skip


def test_counters_under_both_names_are_counted_once() -> None:
    facts = read("vllm:gpu_prefix_cache_hits_total 10\nvllm:prefix_cache_hits_total 10\n").facts

    assert facts == {"prefix_cache_hits": 10, "prefix_cache_unit": "tokens", "deprecated_gpu_prefix_hits": 10}


def test_engines_add_up_and_shares_are_averaged() -> None:
    text = "".join(
        f'vllm:kv_cache_usage_perc{{engine="{engine}"}} {usage}\n'
        f'vllm:generation_tokens_total{{engine="{engine}"}} 100\n'
        f'vllm:cache_config_info{{block_size="16",engine="{engine}",kv_cache_size_tokens="800"}} 1\n'
        for engine, usage in ((0, 0.2), (1, 0.4))
    )

    assert read(text).facts == {
        "kv_cache_usage": pytest.approx(0.3), "generation_tokens": 200, "block_size": 16, "kv_cache_tokens": 1600,
    }  # fmt: skip


def test_ranks_of_one_server_count_the_same_requests() -> None:
    text = "".join(f'sglang:num_running_reqs{{tp_rank="{rank}"}} 7\n' for rank in range(4))

    assert read(text).facts == {"num_requests_running": 7}


def test_blocks_make_tokens_unless_a_hybrid_model_inflates_them() -> None:
    info = 'vllm:cache_config_info{{block_size="{}",num_gpu_blocks="100"}} 1\n'

    assert read(info.format(16)).facts["kv_cache_tokens_derived"] == 1600
    assert "kv_cache_tokens_derived" not in read(info.format(1056)).facts


def test_finish_reasons_and_sleep() -> None:
    finished = 'vllm:request_success_total{{finished_reason="{}"}} {}\n'
    inspection = read(
        finished.format("length", 6)
        + finished.format("abort", 4)
        + 'vllm:engine_sleep_state{sleep_state="awake"} 0\nvllm:engine_sleep_state{sleep_state="discard_all"} 1\n'
    )

    assert inspection.facts == {
        "requests_finished_total": 10, "requests_finished_length": 6, "requests_aborted": 4, "sleeping": True
    }  # fmt: skip
    assert [warning.code for warning in inspection.warnings] == ["aborted_share_high"]


def test_the_last_of_several_scrapes_counts() -> None:
    assert read("vllm:generation_tokens_total 5\nvllm:generation_tokens_total 8\n").facts == {"generation_tokens": 8}


def test_declared_without_samples_is_not_zero() -> None:
    declared = read("# HELP vllm:num_requests_running Requests.\n# TYPE vllm:num_requests_running gauge\n")

    assert (declared.engine, declared.facts) == ("vllm", {})
    assert [warning.code for warning in declared.warnings] == ["metrics_declared_but_no_samples"]


def test_a_quoted_paste_reads_like_the_original() -> None:
    assert read("> HELP sglang:num_queue_reqs Waiting.\n> sglang:num_queue_reqs 2.0\n").facts == {
        "num_requests_waiting": 2
    }


def test_a_last_line_may_be_cut() -> None:
    assert read("vllm:num_requests_running 2\nvllm:num_requests_waiting{engi").facts == {"num_requests_running": 2}


@pytest.mark.parametrize("text", ["", "some words here\n", "a,b\n1,2\n", '{"duration": 2.5}\n', "INFO a.py:1] hello\n"])
def test_other_text_is_not_recognised(text: str) -> None:
    assert recognise("metrics.txt", text) is None


@given(text=st.text(st.sampled_from('vlm:_ab1 {}"\\=,.#>\nHELPTY+-eIN'), max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    inspection = recognise("metrics.txt", text)

    assert inspection is None or None not in inspection.facts.values()


def test_times_have_a_mean_and_percentiles_with_the_error_of_their_buckets() -> None:
    stem = "vllm:request_queue_time_seconds"
    counts = "".join(
        f'{stem}_bucket{{le="{bound}"}} {count}\n' for bound, count in (("0.1", 4), ("0.5", 8), ("+Inf", 8))
    )

    facts = read(f"{counts}{stem}_sum 1.6\n{stem}_count 8\nvllm:request_decode_time_seconds_count 0\n").facts

    # By hand: the 4th of 8 is the last of the first bucket; rank 7.92 lies 3.92/4 of the way from 100 to 500 ms.
    assert facts.keys() == {"queue_ms"}
    assert facts["queue_ms"] == pytest.approx({
        "n": 8, "mean": 200.0, "p50": 100.0, "p50_low": 0.0, "p50_high": 100.0,
        "p99": 492.0, "p99_low": 100.0, "p99_high": 500.0,
    })  # fmt: skip

"""The one table of names: what each engine, in each of its ages, calls what engines count."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Engine = Literal["embedded", "vllm", "sglang", "llama.cpp", "tgi", "lmdeploy", "tensorrt-llm"]

Prefix = Literal[
    "embedded:",
    "vllm:",
    "vllm_",
    "sglang:",
    "sglang_",
    "llamacpp:",
    "llamacpp_",
    "tgi_",
    "lmdeploy:",
    "lmdeploy_",
    "nv_trt_llm_",
]

ENGINES: Mapping[Prefix, Engine] = {
    "embedded:": "embedded",
    "vllm:": "vllm",
    "vllm_": "vllm",
    "sglang:": "sglang",
    "sglang_": "sglang",
    "llamacpp:": "llama.cpp",
    "llamacpp_": "llama.cpp",
    "tgi_": "tgi",
    "lmdeploy:": "lmdeploy",
    "lmdeploy_": "lmdeploy",
    "nv_trt_llm_": "tensorrt-llm",
}
"""By prefix; gateways rewrite the colon to an underscore."""

Count = Literal[
    "prompt_tokens",
    "computed_prompt_tokens",
    "cached_prompt_tokens",
    "prefix_queries",
    "prefix_hits",
    "generation_tokens",
    "requests_finished",
    "requests_aborted",
    "preemptions",
]
"""What only grows."""

State = Literal["requests_running", "requests_waiting", "kv_cache_usage", "kv_cache_tokens"]
"""What goes up and down."""

Timed = Literal["ttft", "itl", "tpot", "e2e", "queue", "prefill", "decode", "inference"]
"""Histograms of seconds: itl is one sample an engine step of a request, tpot one a request."""

Quantity = Count | State | Timed | Literal["iteration_tokens"]

Unit = Literal["tokens", "requests", "share", "seconds", "as HELP says"]


@dataclass(frozen=True)
class Name:
    """One spelling without prefix and ``_total``; a label, if given, picks the series that count.

    ``unit`` "as HELP says" is tokens or blocks: vLLM changed it under one name.
    """

    stem: str
    ages: str
    unit: Unit
    label: tuple[str, str] | None = None


Names = Mapping[Quantity, tuple[Name, ...]]


def _vllm_times(*pairs: tuple[Timed, tuple[str, ...]]) -> dict[Quantity, tuple[Name, ...]]:
    return {timed: tuple(Name(stem, "all", "seconds") for stem in stems) for timed, stems in pairs}


_STAGES = _vllm_times(
    ("ttft", ("time_to_first_token_seconds",)),
    ("e2e", ("e2e_request_latency_seconds",)),
    ("queue", ("request_queue_time_seconds",)),
    ("prefill", ("request_prefill_time_seconds",)),
    ("decode", ("request_decode_time_seconds",)),
    ("inference", ("request_inference_time_seconds",)),
)
"""vLLM's since V0; LMDeploy took them over."""

_VLLM: Names = {
    # Cached tokens are included in every age.
    "prompt_tokens": (Name("prompt_tokens", "all", "tokens"),),
    "computed_prompt_tokens": (Name("prompt_tokens_by_source", "0.23 on", "tokens", ("source", "local_compute")),),
    "cached_prompt_tokens": (Name("prompt_tokens_cached", "0.23 on", "tokens"),),
    # V0 has no counters of them, but gauges of the rate since its start.
    "prefix_queries": (
        Name("prefix_cache_queries", "0.9.2 on", "tokens"),
        Name("gpu_prefix_cache_queries", "V1 0.8 to 0.10", "as HELP says"),
    ),
    "prefix_hits": (
        Name("prefix_cache_hits", "0.9.2 on", "tokens"),
        Name("gpu_prefix_cache_hits", "V1 0.8 to 0.10", "as HELP says"),
    ),
    "generation_tokens": (Name("generation_tokens", "all", "tokens"),),
    "requests_finished": (Name("request_success", "all", "requests"),),
    "requests_aborted": (Name("request_success", "all", "requests", ("finished_reason", "abort")),),
    "preemptions": (Name("num_preemptions", "all", "requests"),),
    "requests_running": (Name("num_requests_running", "all", "requests"),),
    "requests_waiting": (Name("num_requests_waiting", "all", "requests"),),
    "kv_cache_usage": (
        Name("kv_cache_usage_perc", "0.9.2 on", "share"),
        Name("gpu_cache_usage_perc", "V0, V1 to 0.10", "share"),
        Name("gpu_kv_cache_usage", "gateways", "share"),
    ),
    **_STAGES,
    "itl": (
        Name("inter_token_latency_seconds", "0.11 on", "seconds"),
        Name("time_per_output_token_seconds", "to 0.14", "seconds"),
    ),
    "tpot": (Name("request_time_per_output_token_seconds", "0.11 on", "seconds"),),
    "iteration_tokens": (Name("iteration_tokens_total", "V1", "tokens"),),
}

_SGLANG: Names = {
    "prompt_tokens": (Name("prompt_tokens", "all", "tokens"),),
    "cached_prompt_tokens": (Name("cached_tokens", "all", "tokens"),),
    "generation_tokens": (Name("generation_tokens", "all", "tokens"),),
    "requests_finished": (Name("num_requests", "all", "requests"),),
    # num_aborted_requests counts orders to abort, whether or not the request is among the finished ones.
    "preemptions": (Name("num_retracted_requests", "2026", "requests"),),
    "requests_running": (Name("num_running_reqs", "all", "requests"),),
    "requests_waiting": (Name("num_queue_reqs", "all", "requests"),),
    "kv_cache_usage": (Name("token_usage", "all", "share"),),
    "kv_cache_tokens": (Name("max_total_num_tokens", "all", "tokens"),),
    "ttft": (Name("time_to_first_token_seconds", "all", "seconds"),),
    "itl": (
        Name("inter_token_latency_seconds", "2025 on", "seconds"),
        Name("time_per_output_token_seconds", "before", "seconds"),
    ),
    "e2e": (Name("e2e_request_latency_seconds", "all", "seconds"),),
    "queue": (Name("queue_time_seconds", "2025 on", "seconds"),),
}

_LLAMACPP: Names = {
    # Counts what was processed: tokens found in a slot's cache are left out, unlike everywhere else.
    "computed_prompt_tokens": (Name("prompt_tokens", "all", "tokens"),),
    "generation_tokens": (Name("tokens_predicted", "all", "tokens"),),
    "requests_running": (Name("requests_processing", "all", "requests"),),
    "requests_waiting": (Name("requests_deferred", "all", "requests"),),
    "kv_cache_usage": (Name("kv_cache_usage_ratio", "to spring 2025", "share"),),
}

_TGI: Names = {
    "prompt_tokens": (Name("request_input_length_sum", "all", "tokens"),),
    "cached_prompt_tokens": (Name("request_skipped_tokens_sum", "v3", "tokens"),),
    "generation_tokens": (Name("request_generated_tokens_sum", "all", "tokens"),),
    "requests_finished": (Name("request_success", "all", "requests"),),
    "requests_running": (Name("batch_current_size", "all", "requests"),),
    "requests_waiting": (Name("queue_size", "all", "requests"),),
    "e2e": (Name("request_duration", "all", "seconds"),),
    "queue": (Name("request_queue_duration", "all", "seconds"),),
    "inference": (Name("request_inference_duration", "all", "seconds"),),
    "tpot": (Name("request_mean_time_per_token_duration", "all", "seconds"),),
}

_LMDEPLOY: Names = {
    "prompt_tokens": (Name("prompt_tokens", "all", "tokens"),),
    "cached_prompt_tokens": (Name("cached_tokens", "2026", "tokens"),),
    "generation_tokens": (Name("generation_tokens", "all", "tokens"),),
    "requests_finished": (Name("request_success", "all", "requests"),),
    "requests_aborted": (Name("request_success", "all", "requests", ("finished_reason", "abort")),),
    "requests_running": (Name("num_requests_running", "all", "requests"),),
    "requests_waiting": (Name("num_requests_waiting", "all", "requests"),),
    "kv_cache_usage": (Name("gpu_cache_usage_perc", "all", "share"),),
    **_STAGES,
    "itl": (
        Name("iter_token_latency", "all", "seconds"),
        Name("time_per_output_token_seconds", "all", "seconds"),
    ),
    "iteration_tokens": (Name("iteration_tokens_total", "all", "tokens"),),
}

NAMES: Mapping[Engine, Names] = {
    "embedded": _VLLM,  # its own server takes vLLM's stems where the meaning is vLLM's, and has no others
    "vllm": _VLLM,
    "sglang": _SGLANG,
    "llama.cpp": _LLAMACPP,
    "tgi": _TGI,
    "lmdeploy": _LMDEPLOY,
    "tensorrt-llm": {},  # Triton counts by one label of a few metrics; metric_names reads those
}


def names(engine: Engine, quantity: Quantity) -> tuple[Name, ...]:
    """Return an engine's spellings of a quantity, the newest first; none if it does not count it."""
    return NAMES[engine].get(quantity, ())

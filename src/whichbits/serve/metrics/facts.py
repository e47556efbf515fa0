"""Facts of a /metrics text, for `inspect`: one vocabulary over the table of names, and what only one engine tells."""

import math
import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.metrics import Engine, Exposition, Quantity, Timed, names, read_exposition
from whichbits.serve.metrics.cache_config import CacheConfig
from whichbits.serve.metrics.times import times_of

Facts = dict[str, Any]

_QUOTE = re.compile(r"^> ?", re.MULTILINE)
_SHAPE = re.compile(
    r"^# ?(?:HELP|TYPE) [a-zA-Z_:][\w:]* |^[a-zA-Z_:][\w:]*(?:\{.*\})? [-+]?(?:\d[\w.+-]*|\.\d+|Inf|NaN)(?: -?\d+)?$"
)
_LOST_HASH = re.compile(r"^(?=(?:HELP|TYPE) [a-zA-Z_:])", re.MULTILINE)
_MOSTLY, _PARTLY = 0.9, 0.5
"""Shares of lines in the format that make a scrape of any program, and of one with an engine's names."""

_ABORTED_SHARE = 0.1
_MOCK = "mock_info"


def recognise(name: str, text: str) -> Inspection | None:
    """Read Prometheus text; None if the text is not in that format. An engine without metrics is "unknown"."""
    del name
    text = _unquoted(text)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    in_shape = sum(1 for line in lines if _SHAPE.match(line.strip()))
    if in_shape < max(1, _PARTLY * (len(lines) - 1)):
        return None
    found = read_exposition(text)
    if found is not None:
        facts = {fact: value for fact, value in _facts(found).items() if _is_known(value)}
        return Inspection("metrics", _name(found), None, facts, (), _warnings(found, facts))
    if in_shape < _MOSTLY * (len(lines) - 1):
        return None
    return Inspection("metrics", "unknown", None, {}, (), (Problem("no_engine_metrics"),))


def _is_known(value: Any) -> bool:
    return value not in (None, {}) and not (isinstance(value, float) and not math.isfinite(value))


def _unquoted(text: str) -> str:
    """Undo what issue forms do to a pasted scrape: quote marks in front, and the ``#`` lost to them."""
    if not _QUOTE.match(text.lstrip()):
        return text
    return _LOST_HASH.sub("# ", _QUOTE.sub("", text))


def _facts(found: Exposition) -> Facts:
    counted = {fact: _number(found.total(quantity)) for fact, quantity in _COUNTED.items()}
    return (
        counted | {"kv_cache_usage": found.mean("kv_cache_usage")} | _ONLY_HERE[found.engine](found) | times_of(found)
    )


_COUNTED: dict[str, Quantity] = {
    "num_requests_running": "requests_running",
    "num_requests_waiting": "requests_waiting",
    "prompt_tokens": "prompt_tokens",
    "generation_tokens": "generation_tokens",
}
"""What every engine may count, and the names of the facts."""


def _vllm(found: Exposition) -> Facts:
    awake = found.values("engine_sleep_state", sleep_state="awake")
    return {
        "prompt_tokens_cached": _number(found.total("cached_prompt_tokens")),
        "prompt_tokens_computed": _number(found.total("computed_prompt_tokens")),
        "num_preemptions": _number(found.total("preemptions")),
        **_iterations(found),
        **_finished(found),
        **_latencies(found),
        **_vllm_prefix_cache(found),
        **asdict(CacheConfig.of(found)),
        "sleeping": any(state == 0 for state in awake) if awake else None,
    }


def _iterations(found: Exposition) -> Facts:
    return {f"iteration_tokens_{part}": _part(found, "iteration_tokens", part) for part in ("sum", "count")}


def _finished(found: Exposition) -> Facts:
    return {
        "requests_finished_total": _number(found.total("requests_finished")),
        "requests_finished_length": _sum(found, "request_success", finished_reason="length"),
        "requests_aborted": _number(found.total("requests_aborted")),
    }


def _latencies(found: Exposition) -> Facts:
    timed: tuple[Timed, ...] = ("ttft", "itl")
    parts = {f"{name}_{part}": _part(found, name, part) for name in timed for part in ("sum", "count")}
    return parts | {"ttft_buckets": _buckets(found, "ttft")}


def _vllm_prefix_cache(found: Exposition) -> Facts:
    """Read the counters, whatever they count in; V0 has a gauge of the rate instead (-1: not in use)."""
    hits, queries = _number(found.total("prefix_hits")), _number(found.total("prefix_queries"))
    rate = hits / queries if hits is not None and queries else None
    gauge = _mean(found, "gpu_prefix_cache_hit_rate")
    counted = found.named("prefix_hits")
    return {
        "prefix_cache_hits": hits,
        "prefix_cache_queries": queries,
        "prefix_cache_unit": found.unit_of("prefix_hits", "prefix_queries"),
        "prefix_hit_rate": gauge if rate is None and gauge is not None and gauge >= 0 else rate,
        "deprecated_gpu_prefix_hits": (
            _sum(found, "gpu_prefix_cache_hits") if counted and not counted[0].startswith("gpu_") else None
        ),
    }


def _sglang(found: Exposition) -> Facts:
    return {
        "kv_tokens_used": _sum(found, "num_used_tokens"),
        "kv_cache_tokens": _number(found.total("kv_cache_tokens")),
        "cache_hit_rate_gauge": _number(_mean(found, "cache_hit_rate")),
        "prefix_cached_tokens": _number(found.total("cached_prompt_tokens")),
        "prefill_compute_tokens": _sum(found, "realtime_tokens", mode="prefill_compute"),
        "cuda_graph_passes_decode": _sum(found, "cuda_graph_passes", mode="decode_cuda_graph"),
        "requests_total": _number(found.total("requests_finished")),
        "requests_aborted": _sum(found, "num_aborted_requests"),
        **_latencies(found),
    }


def _llamacpp(found: Exposition) -> Facts:
    facts: Facts = {
        "prompt_tokens": _number(found.total("computed_prompt_tokens")),
        "prompt_seconds": _sum(found, "prompt_seconds"),
        "generation_seconds": _sum(found, "tokens_predicted_seconds"),
        "kv_tokens_used": _sum(found, "kv_cache_tokens"),
    }
    facts["prompt_tps_derived"] = _ratio(facts["prompt_tokens"], facts["prompt_seconds"])
    facts["generation_tps_derived"] = _ratio(found.total("generation_tokens"), facts["generation_seconds"])
    return facts


def _tgi(found: Exposition) -> Facts:
    return {
        "requests_total": _sum(found, "request_count"),
        "requests_finished_total": _number(found.total("requests_finished")),
        "prefix_cached_tokens": _number(found.total("cached_prompt_tokens")),
    }


def _lmdeploy(found: Exposition) -> Facts:
    return {
        "prefix_cached_tokens": _number(found.total("cached_prompt_tokens")),
        "prefix_hit_rate": _mean(found, "prefix_cache_hit_rate"),
        **_iterations(found),
        **_finished(found),
        **_latencies(found),
    }


def _triton(found: Exposition) -> Facts:
    """Read Triton's view of TensorRT-LLM: request states and KV blocks."""
    blocks, requests = "kv_cache_block_metrics", "request_metrics"
    used, most = (_sum(found, blocks, kv_cache_block_type=kind) for kind in ("used", "max"))
    return {
        "num_requests_running": _sum(found, requests, request_type="scheduled"),
        "num_requests_waiting": _sum(found, requests, request_type="waiting"),
        "num_gpu_blocks": most,
        "block_size": _sum(found, blocks, kv_cache_block_type="tokens_per"),
        "kv_cache_usage": _ratio(used, most),
    }


_ONLY_HERE: dict[Engine, Callable[[Exposition], Facts]] = {
    "embedded": _vllm,
    "vllm": _vllm,
    "sglang": _sglang,
    "llama.cpp": _llamacpp,
    "tgi": _tgi,
    "lmdeploy": _lmdeploy,
    "tensorrt-llm": _triton,
}


def _name(found: Exposition) -> str:
    """Tell what only uses vLLM's names: our mock says so, llm-d's simulator has another histogram."""
    if _MOCK in found.names:
        return "whichbits-mock (vllm names)"
    other = any(name.startswith("max_num_generation_tokens") for name in found.names)
    return "llm-d-inference-sim (vllm names)" if found.engine == "vllm" and other else found.engine


def _warnings(found: Exposition, facts: Facts) -> tuple[Problem, ...]:
    if not found.series:
        return (Problem("metrics_declared_but_no_samples"),)
    aborted, finished = facts.get("requests_aborted"), facts.get("requests_finished_total", facts.get("requests_total"))
    if aborted and finished and aborted / finished > _ABORTED_SHARE:
        return (Problem("aborted_share_high"),)
    return ()


def _sum(found: Exposition, stem: str, **labels: str) -> float | int | None:
    """Sum a metric that only one engine has, with or without ``_total``."""
    values = found.values(f"{stem}_total", **labels) or found.values(stem, **labels)
    return _number(math.fsum(values)) if values else None


def _mean(found: Exposition, name: str) -> float | None:
    values = found.values(name)
    return math.fsum(values) / len(values) if values else None


def _part(found: Exposition, quantity: Quantity, part: str) -> float | int | None:
    """Return the sum or the count of a histogram, under the first of its names that has any."""
    stems = (name.stem for name in names(found.engine, quantity))
    return next((value for stem in stems if (value := _sum(found, f"{stem}_{part}")) is not None), None)


def _buckets(found: Exposition, timed: Timed) -> dict[str, float | int | None]:
    """Return cumulative counts by upper bound as it is spelt, summed over engines."""
    counts: dict[str, float] = {}
    for stem in (name.stem for name in names(found.engine, timed)):
        for sample in found.series:
            if sample.name == f"{stem}_bucket" and "le" in sample.labels and math.isfinite(sample.value):
                counts[sample.labels["le"]] = counts.get(sample.labels["le"], 0) + sample.value
    return {bound: _number(count) for bound, count in counts.items()}


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and float(value).is_integer() else value

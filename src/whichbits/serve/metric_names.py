"""Facts of a /metrics text: what each engine, in each of its ages, calls the few things that all of them count."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whichbits.record.inspection import Inspection, Problem
from whichbits.serve.metrics import Sample, parse

Facts = dict[str, Any]

_QUOTE = re.compile(r"^> ?", re.MULTILINE)
_SHAPE = re.compile(
    r"^# ?(?:HELP|TYPE) [a-zA-Z_:][\w:]* |^[a-zA-Z_:][\w:]*(?:\{.*\})? [-+]?(?:\d[\w.+-]*|\.\d+|Inf|NaN)(?: -?\d+)?$"
)
_LOST_HASH = re.compile(r"^(?=(?:HELP|TYPE) [a-zA-Z_:])", re.MULTILINE)
_MOSTLY, _PARTLY = 0.9, 0.5
"""Shares of lines in the format that make a scrape of any program, and of one with an engine's names."""

_ABORTED_SHARE = 0.1
_INFLATED_BLOCK = 256
"""Hybrid models report a block size of hundreds of tokens, with which blocks x size is not the pool."""


@dataclass(frozen=True)
class Scrape:
    """One engine's samples without its prefix, and what HELP lines say.

    A series that occurs twice (several scrapes in one file) has its last value.
    """

    series: tuple[Sample, ...]
    help: Mapping[str, str]
    names: frozenset[str]

    def total(self, *names: str, **labels: str) -> float | int | None:
        """Sum the first of the names that has samples; counters with and without ``_total``."""
        values = self.values(*(spelling for name in names for spelling in (f"{name}_total", name)), **labels)
        return _number(sum(values)) if values else None

    def mean(self, *names: str) -> float | None:
        """Average a share over engines."""
        values = self.values(*names)
        return sum(values) / len(values) if values else None

    def values(self, *names: str, **labels: str) -> list[float]:
        """Return the finite values of the first name that has any."""
        for name in names:
            found = [
                sample.value
                for sample in self.series
                if sample.name == name and labels.items() <= sample.labels.items() and math.isfinite(sample.value)
            ]
            if found:
                return found
        return []

    def labels(self, name: str) -> list[dict[str, str]]:
        """Return the labels of every series of an info metric."""
        return [sample.labels for sample in self.series if sample.name == name]

    def buckets(self, name: str) -> dict[str, float | int]:
        """Return cumulative counts by upper bound, summed over engines."""
        counts: dict[str, float] = {}
        for sample in self.series:
            if sample.name == f"{name}_bucket" and "le" in sample.labels and math.isfinite(sample.value):
                counts[sample.labels["le"]] = counts.get(sample.labels["le"], 0) + sample.value
        return {bound: _number(count) for bound, count in counts.items()}


def recognise(name: str, text: str) -> Inspection | None:
    """Read Prometheus text; None if the text is not in that format. An engine without metrics is "unknown"."""
    del name
    text = _unquoted(text)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    in_shape = sum(1 for line in lines if _SHAPE.match(line.strip()))
    if in_shape < max(1, _PARTLY * (len(lines) - 1)):
        return None
    for prefix, (engine, facts_of) in _ENGINES.items():
        scrape = _scrape(text, prefix) if prefix in text else None
        if scrape and scrape.names:
            facts = {fact: value for fact, value in facts_of(scrape).items() if _is_known(value)}
            return Inspection("metrics", _name(engine, scrape), None, facts, (), _warnings(scrape, facts))
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


def _scrape(text: str, prefix: str) -> Scrape:
    last: dict[tuple[str, frozenset[tuple[str, str]]], Sample] = {}
    for sample in parse(text):
        if sample.name.startswith(prefix):
            bare = Sample(sample.name.removeprefix(prefix), sample.labels, sample.value)
            last[bare.name, frozenset(bare.labels.items())] = bare
    told = re.findall(rf"^\s*# ?HELP {re.escape(prefix)}(\S+) ?(.*)$", text, re.MULTILINE)
    declared = re.findall(rf"^\s*# ?TYPE {re.escape(prefix)}(\S+) ", text, re.MULTILINE)
    names = {sample.name for sample in last.values()}.union((name for name, _ in told), declared)
    return Scrape(tuple(_one_rank(last.values())), dict(told), frozenset(names))


def _one_rank(series: Iterable[Sample]) -> list[Sample]:
    """Keep one of the series that differ in the rank only: each rank of an SGLang server counts the same."""
    kept: dict[tuple[str, frozenset[tuple[str, str]]], Sample] = {}
    for sample in series:
        who = frozenset((label, value) for label, value in sample.labels.items() if not label.endswith("_rank"))
        dp_rank = frozenset({("dp_rank", sample.labels["dp_rank"])} if "dp_rank" in sample.labels else ())
        kept.setdefault((sample.name, who | dp_rank), sample)
    return list(kept.values())


def _vllm(scrape: Scrape) -> Facts:
    facts: Facts = {
        "num_requests_running": scrape.total("num_requests_running"),
        "num_requests_waiting": scrape.total("num_requests_waiting"),
        "kv_cache_usage": scrape.mean("kv_cache_usage_perc", "gpu_cache_usage_perc", "gpu_kv_cache_usage"),
        "prompt_tokens": scrape.total("prompt_tokens"),
        "prompt_tokens_cached": scrape.total("prompt_tokens_cached"),
        "prompt_tokens_computed": scrape.total("prompt_tokens_by_source", source="local_compute"),
        "generation_tokens": scrape.total("generation_tokens"),
        "num_preemptions": scrape.total("num_preemptions"),
        "iteration_tokens_sum": scrape.total("iteration_tokens_total_sum"),
        "iteration_tokens_count": scrape.total("iteration_tokens_total_count"),
    }
    facts |= _finished(scrape) | _latencies(scrape, "inter_token_latency_seconds", "time_per_output_token_seconds")
    facts |= _vllm_prefix_cache(scrape) | _vllm_cache_config(scrape)
    awake = scrape.values("engine_sleep_state", sleep_state="awake")
    facts["sleeping"] = any(state == 0 for state in awake) if awake else None
    return facts


def _finished(scrape: Scrape) -> Facts:
    return {
        "requests_finished_total": scrape.total("request_success"),
        "requests_finished_length": scrape.total("request_success", finished_reason="length"),
        "requests_aborted": scrape.total("request_success", finished_reason="abort"),
    }


def _latencies(scrape: Scrape, *token_names: str) -> Facts:
    ttft = "time_to_first_token_seconds"
    return {
        "ttft_sum": scrape.total(f"{ttft}_sum"),
        "ttft_count": scrape.total(f"{ttft}_count"),
        "ttft_buckets": scrape.buckets(ttft),
        "itl_sum": scrape.total(*(f"{name}_sum" for name in token_names)),
        "itl_count": scrape.total(*(f"{name}_count" for name in token_names)),
    }


def _vllm_prefix_cache(scrape: Scrape) -> Facts:
    """Counters in tokens; in blocks up to 0.9, as HELP says; V0 has a gauge of the rate (-1: not in use)."""
    old = "gpu_" if not scrape.values("prefix_cache_hits_total", "prefix_cache_hits") else ""
    hits, queries = scrape.total(f"{old}prefix_cache_hits"), scrape.total(f"{old}prefix_cache_queries")
    rate = hits / queries if hits is not None and queries else None
    gauge = scrape.mean("gpu_prefix_cache_hit_rate")
    return {
        "prefix_cache_hits": hits,
        "prefix_cache_queries": queries,
        "prefix_cache_unit": _unit(scrape, f"{old}prefix_cache_hits", f"{old}prefix_cache_queries"),
        "prefix_hit_rate": gauge if rate is None and gauge is not None and gauge >= 0 else rate,
        "deprecated_gpu_prefix_hits": None if old else scrape.total("gpu_prefix_cache_hits"),
    }


def _unit(scrape: Scrape, *names: str) -> str | None:
    """Return what is counted, as HELP says; names without ``gpu_`` have always meant tokens."""
    counted = [spelling for name in names for spelling in (f"{name}_total", name) if scrape.values(spelling)]
    told = (re.search(r"\b(tokens|blocks)\b", scrape.help.get(name, "")) for name in counted)
    said = next((unit[1] for unit in told if unit), None)
    return said or ("tokens" if counted and not counted[0].startswith("gpu_") else None)


def _vllm_cache_config(scrape: Scrape) -> Facts:
    engines = scrape.labels("cache_config_info")
    sizes = [_integer(labels.get("kv_cache_size_tokens")) for labels in engines]
    blocks = [_integer(labels.get("num_gpu_blocks")) for labels in engines]
    facts: Facts = {
        "block_size": _agreed(_integer(labels.get("block_size")) for labels in engines),
        "num_gpu_blocks": _sum(blocks),
        "kv_cache_tokens": _sum(sizes),
        "max_concurrency": _sum([_decimal(labels.get("kv_cache_max_concurrency")) for labels in engines]),
        "gpu_memory_utilization": _agreed(_decimal(labels.get("gpu_memory_utilization")) for labels in engines),
        "enable_prefix_caching": _agreed(_truth(labels.get("enable_prefix_caching")) for labels in engines),
    }
    block_size = facts["block_size"]
    if not facts["kv_cache_tokens"] and facts["num_gpu_blocks"] and block_size and block_size <= _INFLATED_BLOCK:
        facts["kv_cache_tokens_derived"] = facts["num_gpu_blocks"] * block_size
    return facts


def _sglang(scrape: Scrape) -> Facts:
    return {
        "num_requests_running": scrape.total("num_running_reqs"),
        "num_requests_waiting": scrape.total("num_queue_reqs"),
        "kv_cache_usage": scrape.mean("token_usage"),
        "kv_tokens_used": scrape.total("num_used_tokens"),
        "kv_cache_tokens": scrape.total("max_total_num_tokens"),
        "cache_hit_rate_gauge": _number_or_none(scrape.mean("cache_hit_rate")),
        "prompt_tokens": scrape.total("prompt_tokens"),
        "generation_tokens": scrape.total("generation_tokens"),
        "prefix_cached_tokens": scrape.total("cached_tokens"),
        "prefill_compute_tokens": scrape.total("realtime_tokens", mode="prefill_compute"),
        "cuda_graph_passes_decode": scrape.total("cuda_graph_passes", mode="decode_cuda_graph"),
        "requests_total": scrape.total("num_requests"),
        "requests_aborted": scrape.total("num_aborted_requests"),
        **_latencies(scrape, "inter_token_latency_seconds", "time_per_output_token_seconds"),
    }


def _llamacpp(scrape: Scrape) -> Facts:
    facts: Facts = {
        "prompt_tokens": scrape.total("prompt_tokens"),
        "prompt_seconds": scrape.total("prompt_seconds"),
        "generation_tokens": scrape.total("tokens_predicted"),
        "generation_seconds": scrape.total("tokens_predicted_seconds"),
        "num_requests_running": scrape.total("requests_processing"),
        "num_requests_waiting": scrape.total("requests_deferred"),
        "kv_cache_usage": scrape.mean("kv_cache_usage_ratio"),
        "kv_tokens_used": scrape.total("kv_cache_tokens"),
    }
    facts["prompt_tps_derived"] = _ratio(facts["prompt_tokens"], facts["prompt_seconds"])
    facts["generation_tps_derived"] = _ratio(facts["generation_tokens"], facts["generation_seconds"])
    return facts


def _tgi(scrape: Scrape) -> Facts:
    return {
        "requests_total": scrape.total("request_count"),
        "requests_finished_total": scrape.total("request_success"),
        "num_requests_running": scrape.total("batch_current_size"),
        "num_requests_waiting": scrape.total("queue_size"),
        "prompt_tokens": scrape.total("request_input_length_sum"),
        "generation_tokens": scrape.total("request_generated_tokens_sum"),
        "prefix_cached_tokens": scrape.total("request_skipped_tokens_sum"),
    }


def _lmdeploy(scrape: Scrape) -> Facts:
    return {
        "num_requests_running": scrape.total("num_requests_running"),
        "num_requests_waiting": scrape.total("num_requests_waiting"),
        "kv_cache_usage": scrape.mean("gpu_cache_usage_perc"),
        "prompt_tokens": scrape.total("prompt_tokens"),
        "generation_tokens": scrape.total("generation_tokens"),
        "prefix_cached_tokens": scrape.total("cached_tokens"),
        "prefix_hit_rate": scrape.mean("prefix_cache_hit_rate"),
        "iteration_tokens_sum": scrape.total("iteration_tokens_total_sum"),
        "iteration_tokens_count": scrape.total("iteration_tokens_total_count"),
        **_finished(scrape),
        **_latencies(scrape, "iter_token_latency", "time_per_output_token_seconds"),
    }


def _triton(scrape: Scrape) -> Facts:
    """Read Triton's view of TensorRT-LLM: request states and KV blocks."""
    blocks, requests = "kv_cache_block_metrics", "request_metrics"
    used, most = (scrape.total(blocks, kv_cache_block_type=kind) for kind in ("used", "max"))
    return {
        "num_requests_running": scrape.total(requests, request_type="scheduled"),
        "num_requests_waiting": scrape.total(requests, request_type="waiting"),
        "num_gpu_blocks": most,
        "block_size": scrape.total(blocks, kv_cache_block_type="tokens_per"),
        "kv_cache_usage": _ratio(used, most),
    }


_ENGINES: dict[str, tuple[str, Callable[[Scrape], Facts]]] = {
    "embedded:": ("embedded", _vllm),
    "vllm:": ("vllm", _vllm),
    "vllm_": ("vllm", _vllm),
    "sglang:": ("sglang", _sglang),
    "sglang_": ("sglang", _sglang),
    "llamacpp:": ("llama.cpp", _llamacpp),
    "llamacpp_": ("llama.cpp", _llamacpp),
    "tgi_": ("tgi", _tgi),
    "lmdeploy:": ("lmdeploy", _lmdeploy),
    "lmdeploy_": ("lmdeploy", _lmdeploy),
    "nv_trt_llm_": ("tensorrt-llm", _triton),
}
"""By prefix; gateways rewrite the colon to an underscore."""


def _name(engine: str, scrape: Scrape) -> str:
    """Tell llm-d's simulator from the vLLM whose names it uses, by a histogram that vLLM names otherwise."""
    simulated = engine == "vllm" and any(name.startswith("max_num_generation_tokens") for name in scrape.names)
    return "llm-d-inference-sim (vllm names)" if simulated else engine


def _warnings(scrape: Scrape, facts: Facts) -> tuple[Problem, ...]:
    if not scrape.series:
        return (Problem("metrics_declared_but_no_samples"),)
    aborted, finished = facts.get("requests_aborted"), facts.get("requests_finished_total", facts.get("requests_total"))
    if aborted and finished and aborted / finished > _ABORTED_SHARE:
        return (Problem("aborted_share_high"),)
    return ()


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _number_or_none(value: float | None) -> float | int | None:
    return None if value is None else _number(value)


def _integer(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,18}", text, re.ASCII) else None


def _decimal(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII) else None


def _truth(text: str | None) -> bool | None:
    return {"True": True, "False": False}.get(text or "")


def _sum(values: Sequence[float | None]) -> float | None:
    """Sum over engines, if all of them say it."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _agreed(values: Iterable[Any]) -> Any:
    """Return what all engines say alike."""
    different = list(dict.fromkeys(values))
    return different[0] if len(different) == 1 else None

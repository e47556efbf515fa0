"""A /metrics text as large as vLLM's: its families, labels and buckets, of what a mock engine has served by then."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from whichbits.record.schema import RequestRecord
from whichbits.record.timelines import Floats

_SECONDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640)
_TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
_HISTOGRAMS = {
    "time_to_first_token_seconds": _SECONDS,
    "inter_token_latency_seconds": _SECONDS,
    "request_time_per_output_token_seconds": _SECONDS,
    "e2e_request_latency_seconds": _SECONDS,
    "request_queue_time_seconds": _SECONDS,
    "request_inference_time_seconds": _SECONDS,
    "request_prefill_time_seconds": _SECONDS,
    "request_decode_time_seconds": _SECONDS,
    "http_like_duration_seconds": _SECONDS,
    "iteration_tokens_total": _TOKENS,
    "request_prompt_tokens": _TOKENS,
    "request_generation_tokens": _TOKENS,
    "request_max_num_generation_tokens": _TOKENS,
    "request_params_max_tokens": _TOKENS,
    "request_prefill_kv_computed_tokens": _TOKENS,
}
_PYTHON = "".join(
    f"# HELP python_gc_{name}_total What Python's collector did.\n# TYPE python_gc_{name}_total counter\n"
    + "".join(f'python_gc_{name}_total{{generation="{generation}"}} 3.0\n' for generation in range(3))
    for name in ("objects_collected", "objects_uncollectable", "collections", "pauses", "frozen", "untracked")
)
_GAUGES = ("lora_requests", "engine_sleep_state", "num_requests_waiting_by_reason", "estimated_read_bytes_per_gpu")
_COUNTERS = ("external_prefix_cache_queries", "external_prefix_cache_hits", "mm_cache_queries", "mm_cache_hits")


@dataclass(frozen=True)
class Moment:
    """What was served by a moment."""

    prompt_tokens: int
    output_tokens: int
    finished: int
    running: int
    seconds: float


@dataclass(frozen=True)
class Served:
    """What a cell's requests add up to over time."""

    sent_ns: Floats
    finished_ns: Floats
    chunk_ns: Floats
    prompts: Floats

    @classmethod
    def of(cls, records: Sequence[RequestRecord]) -> Self:
        """Put the requests of a cell in the order of time."""
        ends = sorted((record.finished_ns or 0, record.prompt_tokens or 0) for record in records)
        return cls(
            sent_ns=np.sort(np.array([record.sent_ns or 0 for record in records], np.float64)),
            finished_ns=np.array([end for end, _ in ends], np.float64),
            chunk_ns=np.sort(np.concatenate([np.asarray(record.chunk_ns, np.float64) for record in records])),
            prompts=np.cumsum([0, *(prompt for _, prompt in ends)]).astype(np.float64),
        )

    def at(self, time_ns: int) -> Moment:
        """Return what was served by then."""
        finished = int(np.searchsorted(self.finished_ns, time_ns, "right"))
        return Moment(
            prompt_tokens=int(self.prompts[finished]),
            output_tokens=int(np.searchsorted(self.chunk_ns, time_ns, "right")),
            finished=finished,
            running=int(np.searchsorted(self.sent_ns, time_ns, "right")) - finished,
            seconds=time_ns / 1e9,
        )


def scrape_text(model: str, moment: Moment) -> str:
    """Return the text, some 50 KB in 450 lines."""
    labels = f'engine="0",model_name="models/qwen2.5-7b-instruct-{model}"'
    totals = {
        "prompt_tokens": moment.prompt_tokens,
        "generation_tokens": moment.output_tokens,
        "prefix_cache_queries": moment.prompt_tokens,
        "prefix_cache_hits": 0,
        "num_preemptions": 0,
        **dict.fromkeys(_COUNTERS, 0),
    }
    states = {
        "num_requests_running": moment.running,
        "num_requests_waiting": 0,
        "kv_cache_usage_perc": moment.running * 4e-4,
        **dict.fromkeys(_GAUGES, 1),
    }
    lines = [line for name, value in totals.items() for line in _counter(name, labels, value)]
    lines += [
        line for name, value in states.items() for line in _declared(name, "gauge", [f"{{{labels}}} {value:.4f}"])
    ]
    lines += _success(labels, moment.finished)
    for name, bounds in _HISTOGRAMS.items():
        lines += _histogram(name, labels, bounds, moment)
    return _PYTHON + "\n".join(lines) + "\n"


def _declared(name: str, kind: str, series: Sequence[str]) -> list[str]:
    told = [f"# HELP vllm:{name} What vLLM says of {name.replace('_', ' ')}.", f"# TYPE vllm:{name} {kind}"]
    return [*told, *(f"vllm:{name}{each}" for each in series)]


def _counter(name: str, labels: str, value: float) -> list[str]:
    counted = _declared(name, "counter", [f"_total{{{labels}}} {value:.1f}"])
    return [*counted, *_declared(name, "gauge", [f"_created{{{labels}}} 1.795988671615e+09"])]


def _success(labels: str, finished: int) -> list[str]:
    by_reason = {"length": finished, "stop": 0, "abort": 0, "error": 0, "repetition": 0}
    series = [f'_total{{{labels},finished_reason="{why}"}} {count:.1f}' for why, count in by_reason.items()]
    return _declared("request_success", "counter", series)


def _histogram(name: str, labels: str, bounds: Sequence[float], moment: Moment) -> list[str]:
    count = moment.output_tokens if name.startswith(("inter", "iteration")) else moment.finished
    middle = bounds[len(bounds) // 3]
    shares = [min(1.0, bound / middle) for bound in bounds]
    series = [f'_bucket{{{labels},le="{b}"}} {int(count * share)}.0' for b, share in zip(bounds, shares, strict=True)]
    series += [f'_bucket{{{labels},le="+Inf"}} {count}.0', f"_count{{{labels}}} {count}.0"]
    series += [f"_sum{{{labels}}} {count * middle / 2}"]
    return _declared(name, "histogram", series)

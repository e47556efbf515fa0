"""The result JSON of ``vllm bench serve --save-detailed``, in the keys of its completions backend.

Times count from the send, as that tool's do; what it defines otherwise, such as its peak concurrency, is left out.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from whichbits.analyze.latency.times import e2e_from_send_ms, itl_ms, tpot_ms, ttft_from_send_ms
from whichbits.record.timelines import Floats, Timelines
from whichbits.report.exporters.exporter import Exported

_NS = 1e9


def vllm_bench(exported: Exported) -> tuple[str, bytes]:
    """Return ``.json`` and the result of one cell."""
    timelines = Timelines.of(exported.requests)
    record = _setup(exported) | _totals(exported) | dict(_statistics(timelines)) | _requests(exported, timelines)
    return ".json", (json.dumps(record, ensure_ascii=False) + "\n").encode()


def _setup(exported: Exported) -> dict[str, Any]:
    model = None if exported.arm is None else exported.arm.model
    rate = exported.cell.request_rate
    return {
        "date": f"{datetime.fromisoformat(exported.manifest.created):%Y%m%d-%H%M%S}",
        "endpoint_type": "openai",
        "backend": "openai",
        "label": exported.cell.arm,
        "model_id": model,
        "tokenizer_id": model,
        "num_prompts": exported.summary.requests,
        "request_rate": "inf" if rate is None else rate,
        "burstiness": 1.0,
        "max_concurrency": exported.cell.concurrency,
        "exported_by": f"whichbits {version('whichbits')}",
    }


def _totals(exported: Exported) -> dict[str, Any]:
    cell = exported.summary
    return {
        "duration": cell.duration_s,
        "completed": cell.served,
        "failed": cell.requests - cell.served,
        "total_input_tokens": cell.prompt_tokens,
        "total_output_tokens": cell.output_tokens,
        "request_throughput": cell.requests_per_s,
        "request_goodput": cell.goodput_requests_per_s,
        "output_throughput": cell.output_tokens_per_s,
        "total_token_throughput": cell.total_tokens_per_s,
    }


def _statistics(timelines: Timelines) -> Iterator[tuple[str, float | None]]:
    quantities = {
        "ttft": ttft_from_send_ms(timelines),
        "tpot": tpot_ms(timelines),
        "itl": itl_ms(timelines),
        "e2el": e2e_from_send_ms(timelines),
    }
    for name, values in quantities.items():
        known = values[~np.isnan(values)]
        for statistic, value in _described(known).items():
            yield f"{statistic}_{name}_ms", value


def _described(known: Floats) -> dict[str, float | None]:
    if not known.size:
        return dict.fromkeys(("mean", "median", "std", "p90", "p99"))
    p50, p90, p99 = np.percentile(known, (50, 90, 99)).tolist()
    return {"mean": float(known.mean()), "median": p50, "std": float(known.std()), "p90": p90, "p99": p99}


def _requests(exported: Exported, timelines: Timelines) -> dict[str, list[Any]]:
    """Return the lists of a detailed result; failed requests hold zeros and the error, as there."""
    good = timelines.succeeded.tolist()
    first, last = timelines.first_chunk_ns - timelines.sent_ns, timelines.last_chunk_ns - timelines.sent_ns
    gaps = [np.diff(timelines.chunk_ns[start:end]) / _NS for start, end in _bounds(timelines)]
    codes = exported.requests["error_code"].to_pylist()
    return {
        "input_lens": [int(count) for count in np.nan_to_num(timelines.prompt_tokens)],
        "output_lens": [
            int(count) if ok else 0 for ok, count in zip(good, np.nan_to_num(timelines.output_tokens), strict=True)
        ],
        "ttfts": [float(ns / _NS) if ok else 0.0 for ok, ns in zip(good, np.nan_to_num(first), strict=True)],
        "itls": [each.tolist() if ok else [] for ok, each in zip(good, gaps, strict=True)],
        "latencies": [float(ns / _NS) if ok else 0.0 for ok, ns in zip(good, np.nan_to_num(last), strict=True)],
        "start_times": [float(ns / _NS) for ns in np.nan_to_num(timelines.sent_ns)],
        "errors": ["" if code is None else code for code in codes],
    }


def _bounds(timelines: Timelines) -> Iterator[tuple[int, int]]:
    return zip(timelines.offsets[:-1].tolist(), timelines.offsets[1:].tolist(), strict=True)

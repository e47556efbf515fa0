"""Result files in each tool's shape, small enough to work out what must be read."""

import json
from pathlib import Path
from typing import Any

from tests.record.importers.make_bench import bench_record
from whichbits.record.importers.imported_cell import ImportedCell
from whichbits.record.importers.tools import read_results


def written(folder: Path, name: str, content: object) -> Path:
    """A file of that content, as JSON unless it is text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def imported(folder: Path, content: object, name: str = "result.json") -> list[ImportedCell]:
    return read_results(written(folder, name, content))


def detailed(**changed: Any) -> dict[str, Any]:
    """Three requests of vLLM's benchmark in 0.15 to 0.31: sent at 0, 1 and 2 s; the last one failed."""
    return bench_record(
        **{
            "num_prompts": 3,
            "completed": 2,
            "failed": 1,
            "duration": 4.0,
            "total_input_tokens": 300,
            "total_output_tokens": 5,
            "output_throughput": 1.25,
            "input_lens": [100, 200, 50],
            "output_lens": [3, 2, 0],
            "ttfts": [0.1, 0.2, 0.0],
            "itls": [[0.01, 0.03], [0.05], []],
            "start_times": [5000.0, 5001.0, 5002.0],
            "errors": ["", "", "Connection reset"],
        }
        | changed
    )


def sglang(**changed: Any) -> dict[str, Any]:
    """One line of SGLang's benchmark without details."""
    return {
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": "trace",
        "max_concurrency": 8,
        "duration": 10.0,
        "completed": 40,
        "total_input_tokens": 4000,
        "total_output_tokens": 2000,
        "total_output_tokens_retokenized": 1990,
        "request_throughput": 4.0,
        "input_throughput": 400.0,
        "output_throughput": 200.0,
        "total_throughput": 600.0,
        "mean_e2e_latency_ms": 900.0,
        "median_e2e_latency_ms": 880.0,
        "p99_e2e_latency_ms": 1500.0,
        "mean_ttft_ms": 60.0,
        "median_ttft_ms": 50.0,
        "p99_ttft_ms": 120.0,
        "mean_tpot_ms": 17.0,
        "median_tpot_ms": 16.5,
        "p99_tpot_ms": 25.0,
        "mean_itl_ms": 17.0,
        "median_itl_ms": 15.0,
        "p99_itl_ms": 40.0,
        "concurrency": 7.2,
    } | changed


def guidellm(requests: dict[str, Any] | None = None, errored: int = 1, **strategy: Any) -> dict[str, Any]:
    """A report of one benchmark with two good requests, an errored and an incomplete one."""

    def metric(mean: float, median: float, p99: float) -> dict[str, Any]:
        percentiles = {"p50": median, "p90": p99 - 1, "p99": p99}
        good = {"mean": mean, "median": median, "std_dev": 1.0, "count": 2, "percentiles": percentiles}
        return {"successful": good, "errored": {"mean": 0.0}, "incomplete": {"mean": 0.0}, "total": {"mean": 9e9}}

    metrics = {
        "request_totals": {"successful": 2, "errored": errored, "incomplete": 1, "total": 4},
        "time_to_first_token_ms": metric(150.0, 140.0, 199.0),
        "time_per_output_token_ms": metric(77.0, 77.0, 77.0),
        "inter_token_latency_ms": metric(12.0, 11.0, 15.0),
        "request_latency": metric(0.4, 0.35, 0.5),
        "output_tokens_per_second": {"successful": {"mean": 80.0}},
        "tokens_per_second": {"successful": {"mean": 300.0}},
        "requests_per_second": {"successful": {"mean": 2.5}},
        "prompt_token_count": {"successful": {"total_sum": 300.0}},
        "output_token_count": {"successful": {"total_sum": 32.0}},
    }
    benchmark = {
        "type_": "generative_benchmark",
        "duration": 60.0,
        "config": {
            "strategy": {"type_": "concurrent", "streams": 4} | strategy,
            "backend": {"model": "acme/tiny-7b", "target": "http://127.0.0.1:8000"},
        },
        "metrics": metrics,
        "requests": requests or {"successful": [], "errored": [], "incomplete": []},
    }
    return {"metadata": {"version": 1, "guidellm_version": "0.7.3"}, "benchmarks": [benchmark]}


GUIDELLM_REQUESTS: dict[str, list[Any]] = {
    "successful": [
        {
            "request_start_time": 101.0,
            "request_latency": 0.35,
            "time_to_first_token_ms": 100.0,
            "inter_token_latency_ms": 10.0,
            "prompt_tokens": 100,
            "output_tokens": 21,
        },
        {
            "request_start_time": 100.0,
            "request_latency": 0.45,
            "time_to_first_token_ms": 200.0,
            "inter_token_latency_ms": 20.0,
            "prompt_tokens": 200,
            "output_tokens": 11,
        },
    ],
    "errored": [{"request_start_time": 100.5, "prompt_tokens": 50, "info": {"error": "HTTP 500"}}],
    "incomplete": [{"request_start_time": 102.0}],
}
"""In no order of time, as workers hand them in."""


def aiperf(**changed: Any) -> dict[str, Any]:
    def metric(unit: str, avg: float, p50: float, p99: float) -> dict[str, Any]:
        return {"unit": unit, "avg": avg, "p50": p50, "p90": p99, "p99": p99, "min": 0.1, "max": p99, "std": 1.0}

    return {
        "request_throughput": {"unit": "requests/sec", "avg": 4.0},
        "request_latency": metric("ms", 900.0, 880.0, 1500.0),
        "time_to_first_token": metric("ms", 60.0, 50.0, 120.0),
        "inter_token_latency": metric("ms", 17.0, 16.5, 25.0),
        "inter_chunk_latency": metric("ms", 17.5, 15.0, 40.0),
        "output_token_throughput": {"unit": "tokens/sec", "avg": 200.0},
        "benchmark_duration": {"unit": "sec", "avg": 10.0},
        "request_count": {"unit": "requests", "avg": 40.0},
        "error_request_count": None,
        "total_isl": {"unit": "tokens", "avg": 4000.0},
        "total_osl": {"unit": "tokens", "avg": 2000.0},
        "was_cancelled": False,
        "input_config": {
            "endpoint": {"model_names": ["acme/tiny-7b"], "type": "chat"},
            "loadgen": {"concurrency": 8, "request_rate_mode": "concurrency_burst"},
        },
    } | changed


AIPERF_RECORDS = "\n".join(
    json.dumps(each)
    for each in (
        {
            "metadata": {"request_start_ns": 1759813207500000000, "benchmark_phase": "warmup"},
            "metrics": {"request_latency": {"value": 9000.0, "unit": "ms"}},
            "error": None,
        },
        {
            "metadata": {
                "request_start_ns": 1759813209000000000,
                "benchmark_phase": "profiling",
                "was_cancelled": False,
            },
            "metrics": {
                "input_sequence_length": {"value": 550, "unit": "tokens"},
                "time_to_first_token": {"value": 100.0, "unit": "ms"},
                "request_latency": {"value": 135.0, "unit": "ms"},
                "output_sequence_length": {"value": 4, "unit": "tokens"},
                "inter_chunk_latency": {"value": [10.0, 20.0], "unit": "ms"},
            },
            "error": None,
        },
        {
            "metadata": {
                "request_start_ns": 1759813208000000000,
                "benchmark_phase": "profiling",
                "was_cancelled": True,
            },
            "metrics": {"error_isl": {"value": 550, "unit": "tokens"}},
            "error": {"code": 499, "type": "RequestCancellationError", "message": "cancelled after 0 s"},
        },
    )
)

AIPERF_CSV = """Metric,avg,min,max,p1,p5,p10,p25,p50,p75,p90,p95,p99,std
Request Latency (ms),"1,900.00",10,20,1,1,1,1,"1,880.00",1,1,1,"2,500.00",1
Time to First Token (ms),60.00,10,20,1,1,1,1,50.00,1,90.00,1,120.00,1
Inter Token Latency (ms),17.00,10,20,1,1,1,1,16.50,1,,1,25.00,1

Metric,Value
Benchmark Duration (sec),10.00
Request Throughput (requests/sec),4.00
Request Count,40.00
Output Token Throughput (tokens/sec),200.00

Endpoint,GPU_Index,GPU_Name,GPU_UUID,Metric,avg,min,max,p1,p5,p10,p25,p50,p75,p90,p95,p99,std
localhost:9400,0,NVIDIA X,GPU-1,Request Count (W),77,1,1,1,1,1,1,1,1,1,1,1,1
"""


def inference_perf(**load: Any) -> dict[str, Any]:
    def metric(mean: float, median: float, p99: float) -> dict[str, float]:
        return {"mean": mean, "min": 0.0, "p90": p99, "median": median, "p99": p99, "max": p99}

    return {
        "load_summary": {"count": 42, "requested_rate": 4.0, "achieved_rate": 4.1} | load,
        "successes": {
            "count": 40,
            "latency": {
                "request_latency": metric(0.9, 0.88, 1.5),
                "normalized_time_per_output_token": metric(0.1, 0.1, 0.1),
                "time_per_output_token": metric(0.017, 0.0165, 0.025),
                "time_to_first_token": metric(0.06, 0.05, 0.12),
                "inter_token_latency": metric(0.017, 0.0001, 0.04),
            },
            "throughput": {
                "input_tokens_per_sec": 400.0,
                "output_tokens_per_sec": 200.0,
                "total_tokens_per_sec": 600.0,
                "requests_per_sec": 4.0,
            },
            "prompt_len": {"mean": 100.0},
            "output_len": {"mean": 50.0},
        },
        "failures": {"count": 2, "request_latency": None, "prompt_len": None},
    }


INFERENCE_PERF_REQUESTS = [
    {
        "start_time": 11.0,
        "end_time": 11.5,
        "request": "{}",
        "response": "",
        "info": {
            "input_tokens": 100,
            # Two tokens came in one chunk.
            "response_metrics": {"output_tokens": 4, "output_token_times": [11.1, 11.2, 11.2, 11.4]},
        },
        "error": None,
    },
    {
        "start_time": 10.0,
        "end_time": 10.2,
        "request": "{}",
        "response": None,
        "info": {"input_tokens": 50},
        "error": {"error_type": "ClientError", "error_msg": "reset by peer"},
    },
]


def llmd_old(**load: Any) -> dict[str, Any]:
    """A Benchmark Report 0.1, in seconds."""
    return {
        "version": "0.1",
        "scenario": {
            "model": {"name": "acme/tiny-7b"},
            "host": {"accelerator": [{"model": "NVIDIA-L4", "count": 2}], "type": ["replica"]},
            "load": {"name": "inference-perf", "args": {"request_rate": 4.0}} | load,
        },
        "metrics": {
            "time": {"duration": 10.0},
            "requests": {
                "total": 42,
                "failures": 2,
                "input_length": {"units": "count", "mean": 100.0},
                "output_length": {"units": "count", "mean": 50.0},
            },
            "latency": {
                "time_to_first_token": {"units": "s", "mean": 0.06, "p50": 0.05, "p99": 0.12},
                "time_per_output_token": {"units": "s/token", "mean": 0.017, "p50": 0.0165},
                "inter_token_latency": {"units": "ms/token", "mean": 17.0},
            },
            "throughput": {"output_tokens_per_sec": 200.0, "total_tokens_per_sec": 600.0},
        },
    }


LLMD_NEW = """version: '0.2'
run:
  uid: abc
  time: {duration: PT1M10.5S}
scenario:
  load:
    standardized: {tool: guidellm, tool_version: 0.7.3, concurrency: 16, stage: 0}
  stack:
  - metadata: {label: vllm-svc-0}
    standardized:
      kind: inference_engine
      model: {name: acme/tiny-7b}
      accelerator: {model: NVIDIA-L4, count: 1}
results:
  request_performance:
    aggregate:
      requests: {total: 42, failures: 0}
      latency:
        time_to_first_token: {units: ms, mean: 60.0, p50: 50.0, p99: 120.0}
        time_per_output_token: {units: ms/token, mean: 99.0}
      throughput:
        output_token_rate: {units: tokens/s, mean: 200.0}
        request_rate: {units: queries/s, mean: 4.0}
"""

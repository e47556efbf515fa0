"""Benchmark results as the tools would write them, from a few numbers."""

from typing import Any

Row = tuple[str, object]


def bench_record(**changed: Any) -> dict[str, Any]:
    """One result object; a change to None removes the key."""
    record = {
        "date": "20260301-120000",
        "backend": "openai",
        "model_id": "acme/tiny-7b",
        "tokenizer_id": "acme/tiny-7b",
        "num_prompts": 40,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 4,
        "duration": 50.0,
        "completed": 40,
        "total_input_tokens": 8000,
        "total_output_tokens": 4000,
        "request_throughput": 0.8,
        "output_throughput": 80.0,
        "total_token_throughput": 240.0,
        "mean_ttft_ms": 100.0,
        "mean_tpot_ms": 40.0,
        "median_itl_ms": 39.0,
        "mean_itl_ms": 40.0,
    } | changed
    return {key: value for key, value in record.items() if value is not None}


def bench_table(*rows: Row) -> str:
    """A printed table of ``rows``: label in 40 columns, value in 10."""
    lines = [f"{label + ':':<40} {value!s:<10}" for label, value in rows]
    return "\n".join(["{s:{c}^{n}}".format(s=" Serving Benchmark Result ", n=50, c="="), *lines, "=" * 50, ""])

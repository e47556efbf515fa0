"""The llm-d Benchmark Report, version 0.2: statistics of one cell in YAML. What it requires and a run does not have

is said to be unknown where the schema has a word for it, and otherwise left out.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

import yaml

from whichbits.analyze.summary import CellSummary, Distribution
from whichbits.report.exporters.exporter import Exported

VERSION = "0.2"

_LATENCIES = {
    # The report counts from the send; with the schedule as start, whichbits would not be comparable with other tools.
    "time_to_first_token": ("ttft_from_send_ms", "ms"),
    "time_per_output_token": ("tpot_ms", "ms/token"),
    "inter_token_latency": ("itl_ms", "ms/token"),
    "request_latency": ("e2e_ms", "ms"),
}
_RATES = {
    "output_token_rate": ("output_tokens_per_s", "tokens/s"),
    "total_token_rate": ("total_tokens_per_s", "tokens/s"),
    "request_rate": ("requests_per_s", "queries/s"),
}


def llmd_report(exported: Exported) -> tuple[str, bytes]:
    """Return ``.yaml`` and the report of one cell."""
    report = {
        "version": VERSION,
        "run": _run(exported),
        "scenario": _scenario(exported),
        "results": {"request_performance": {"aggregate": _aggregate(exported.summary)}},
    }
    return ".yaml", yaml.safe_dump(report, sort_keys=False, allow_unicode=True).encode()


def _run(exported: Exported) -> dict[str, Any]:
    start = datetime.fromisoformat(exported.manifest.created)
    cell = exported.cell
    found: dict[str, Any] = {
        "uid": hashlib.sha256(f"{exported.manifest.created} {exported.stem}".encode()).hexdigest()[:32],
        "description": f"{exported.manifest.name}: {exported.stem}",
    }
    seconds = exported.summary.duration_s
    if seconds is not None and cell.started_ns is not None:
        began = start + timedelta(microseconds=cell.started_ns / 1000)
        ended = began + timedelta(seconds=seconds)
        found["time"] = {"start": began.isoformat(), "end": ended.isoformat(), "duration": f"PT{seconds}S"}
    return found


def _scenario(exported: Exported) -> dict[str, Any]:
    cell = exported.cell
    good = exported.summary.requests - exported.summary.failed
    load: dict[str, Any] = {
        "tool": "whichbits",
        "tool_version": version("whichbits"),
        "source": "unknown",
        "input_seq_len": {"distribution": "other", "value": _mean(exported.summary.prompt_tokens, good) or 0},
    }
    load |= {} if cell.concurrency is None else {"concurrency": cell.concurrency}
    load |= {} if cell.request_rate is None else {"rate_qps": cell.request_rate}
    found: dict[str, Any] = {"load": {"metadata": {"schema_version": "0.0.1"}, "standardized": load, "native": {}}}
    return found | ({"stack": [_engine(exported)]} if exported.arm is not None and exported.arm.model else {})


def _engine(exported: Exported) -> dict[str, Any]:
    arm = exported.arm
    assert arm is not None  # noqa: S101 - the caller has asked
    return {
        "metadata": {
            "schema_version": "0.0.1",
            "label": arm.arm,
            "cfg_id": hashlib.sha256(repr(exported.manifest.study.get("arms")).encode()).hexdigest()[:32],
        },
        "standardized": {
            "kind": "generic",
            "tool": arm.engine,
            "tool_version": arm.engine_version or "unknown",
            "model": {"name": arm.model},
            "weight_format": arm.weight_format,
        },
        "native": {},
    }


def _aggregate(cell: CellSummary) -> dict[str, Any]:
    good = cell.requests - cell.failed
    requests: dict[str, Any] = {"total": cell.requests, "failures": cell.failed}
    for name, tokens in (("input_length", cell.prompt_tokens), ("output_length", cell.output_tokens)):
        mean = _mean(tokens, good)
        requests |= {} if mean is None else {name: {"units": "count", "mean": mean}}
    return {"requests": requests, "latency": dict(_latencies(cell)), "throughput": dict(_rates(cell))}


def _latencies(cell: CellSummary) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, (holder, units) in _LATENCIES.items():
        times: Distribution = getattr(cell, holder)
        if times.mean is not None:
            told = {statistic: getattr(times, statistic) for statistic in ("mean", "p50", "p90", "p99")}
            yield name, {"units": units} | {key: value for key, value in told.items() if value is not None}


def _rates(cell: CellSummary) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, (holder, units) in _RATES.items():
        value = getattr(cell, holder)
        if value is not None:
            yield name, {"units": units, "mean": value}


def _mean(total: int | None, count: int) -> float | None:
    return total / count if total is not None and count else None

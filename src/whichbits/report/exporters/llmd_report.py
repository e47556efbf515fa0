"""The llm-d Benchmark Report, version 0.2: statistics of one cell in YAML, times counted from the send.

What the schema requires and a run does not have is said to be unknown; what it does not require is then left out.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

import yaml

from whichbits.analyze.latency.times import distribution, e2e_from_send_ms, itl_ms, tpot_ms, ttft_from_send_ms
from whichbits.analyze.summary import CellSummary
from whichbits.record.timelines import Timelines
from whichbits.report.exporters.exporter import Exported

VERSION = "0.2"

_UNITS = {"time_to_first_token": "ms", "request_latency": "ms"}
_UNITS_OF_TOKENS = "ms/token"
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
        "results": {"request_performance": {"aggregate": _aggregate(exported)}},
    }
    return ".yaml", yaml.safe_dump(report, sort_keys=False, allow_unicode=True).encode()


def _run(exported: Exported) -> dict[str, Any]:
    cell = exported.cell
    found: dict[str, Any] = {
        "uid": hashlib.sha256(f"{exported.manifest.created} {exported.stem}".encode()).hexdigest()[:32],
        "description": f"{exported.manifest.name}: {exported.stem}",
    }
    seconds = exported.summary.duration_s
    if seconds is not None and cell.started_ns is not None:
        began = datetime.fromtimestamp((exported.manifest.origin_unix_ns + cell.started_ns) / 1e9, UTC)
        ended = began + timedelta(seconds=seconds)
        found["time"] = {"start": began.isoformat(), "end": ended.isoformat(), "duration": f"PT{seconds:.6f}S"}
    return found


def _scenario(exported: Exported) -> dict[str, Any]:
    cell = exported.cell
    good = exported.summary.served
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


def _aggregate(exported: Exported) -> dict[str, Any]:
    cell = exported.summary
    good = cell.served
    requests: dict[str, Any] = {"total": cell.requests, "failures": cell.requests - good}
    for name, tokens in (("input_length", cell.prompt_tokens), ("output_length", cell.output_tokens)):
        mean = _mean(tokens, good)
        requests |= {} if mean is None else {name: {"units": "count", "mean": mean}}
    latency = dict(_latencies(Timelines.of(exported.requests)))
    return {"requests": requests, "latency": latency, "throughput": dict(_rates(cell))}


def _latencies(timelines: Timelines) -> Iterator[tuple[str, dict[str, Any]]]:
    each = {
        "time_to_first_token": ttft_from_send_ms(timelines),
        "time_per_output_token": tpot_ms(timelines),
        "inter_token_latency": itl_ms(timelines),
        "request_latency": e2e_from_send_ms(timelines),
    }
    for name, values in each.items():
        times = distribution(values)
        if times.mean is not None:
            told = {statistic: getattr(times, statistic) for statistic in ("mean", "p50", "p90", "p99")}
            yield name, {"units": _UNITS.get(name, _UNITS_OF_TOKENS)} | told


def _rates(cell: CellSummary) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, (holder, units) in _RATES.items():
        value = getattr(cell, holder)
        if value is not None:
            yield name, {"units": units, "mean": value}


def _mean(total: int | None, count: int) -> float | None:
    return total / count if total is not None and count else None

"""AIPerf's profile_export_aiperf.json and .csv: statistics of one load."""

import csv
import re
from collections.abc import Iterator, Mapping

from whichbits.record.importers.imported_cell import ImportedCell, known
from whichbits.record.importers.importer import Importer
from whichbits.record.importers.result_file import Json, ResultFile, items, number, part, whole, words
from whichbits.record.schema import Imported

TOOL = "aiperf"

MEANING = {
    "ttft_ms": "ttft_send",
    "ttft_from_send_ms": "ttft_send",
    # Its inter_token_latency is others' TPOT; the gaps between chunks are its inter_chunk_latency.
    "tpot_ms": "tpot_tokens_by_client",
    "itl_ms": "itl_chunks",
    "e2e_ms": "e2e_send",
    "output_tokens_per_s": "rate_whole_tokens_by_client",
    "total_tokens_per_s": "rate_whole_tokens_by_client",
    "requests_per_s": "rate_whole",
}
_LATENCIES = {
    "ttft_ms": "time_to_first_token",
    "ttft_from_send_ms": "time_to_first_token",
    "tpot_ms": "inter_token_latency",
    "itl_ms": "inter_chunk_latency",
    "e2e_ms": "request_latency",
}
_TOTALS = {
    "prompt_tokens": ("total_isl",),
    "output_tokens": ("total_osl", "total_output_tokens"),
    "duration_s": ("benchmark_duration",),
    "output_tokens_per_s": ("output_token_throughput",),
    "total_tokens_per_s": ("total_token_throughput",),
    "requests_per_s": ("request_throughput",),
}
_STATISTICS = {"mean": "avg", "p50": "p50", "p90": "p90", "p99": "p99"}
_MILLISECONDS = {"ms": 1.0, "s": 1e3, "sec": 1e3, "us": 1e-3, "ns": 1e-6}
_SECONDS = {unit: scale / 1e3 for unit, scale in _MILLISECONDS.items()}

_Metrics = Mapping[str, Json]
"""By tag: unit, avg and percentiles."""

_CSV_NAME = re.compile(r"(?P<name>[^(]+?)\s*(?:\((?P<unit>[^)]*)\))?")
_CSV_RENAMED = {"total_input_sequence_length": "total_isl", "total_output_sequence_length": "total_osl"}


def _recognises_json(file: ResultFile) -> bool:
    return _is_measured(_json_metrics(file))


def _recognises_csv(file: ResultFile) -> bool:
    return file.text.lstrip().startswith("Metric,") and _is_measured(_csv_metrics(file))


def _is_measured(metrics: _Metrics) -> bool:
    return all("avg" in metrics.get(tag, {}) for tag in ("request_latency", "request_throughput"))


def _json_metrics(file: ResultFile) -> _Metrics:
    told = part(file.document, "records") or file.document
    return {tag: entry for tag, entry in told.items() if isinstance(entry, Mapping) and "unit" in entry}


def _csv_metrics(file: ResultFile) -> _Metrics:
    """Return the rows of the tables of metrics; those of the hardware carry other columns first."""
    metrics: dict[str, Json] = {}
    header: list[str] = []
    for row in csv.reader(file.text.splitlines()):
        if row and row[0] == "Metric":
            header = ["avg" if name == "Value" else name for name in row]
        elif not row or row[0] == "Endpoint":
            header = []
        elif header and (name := _CSV_NAME.fullmatch(row[0])):
            tag = name["name"].strip().lower().replace(" ", "_")
            metrics[_CSV_RENAMED.get(tag, tag)] = {"unit": name["unit"]} | dict(_csv_numbers(header, row))
    return metrics


def _csv_numbers(header: list[str], row: list[str]) -> Iterator[tuple[str, float]]:
    for name, text in zip(header[1:], row[1:], strict=False):
        try:
            yield name, float(text.replace(",", ""))
        except ValueError:
            continue


def _read_json(file: ResultFile) -> list[ImportedCell]:
    settings = part(file.document, "input_config")
    model = _model(settings)
    load = part(settings, "loadgen")
    cancelled = file.document.get("was_cancelled") is True
    cell = _cell(_json_metrics(file), model, whole(load.get("concurrency")), number(load.get("request_rate")))
    return [cell.with_notes(("the run was cancelled before its end",) if cancelled else ())]


def _read_csv(file: ResultFile) -> list[ImportedCell]:
    return [_cell(_csv_metrics(file), None, None, None)]


def _model(settings: Json) -> str | None:
    named = [*items(settings, "endpoint", "model_names")]
    named += [part(each).get("name") for each in items(settings, "models", "items")]
    return next((text for each in named if (text := words(each))), None)


def _cell(metrics: _Metrics, model: str | None, concurrency: int | None, rate: float | None) -> ImportedCell:
    failed = metrics.get("error_request_count", {}).get("avg")
    return ImportedCell(
        imported=Imported(TOOL, MEANING, dict(_statistics(metrics))),
        arm=model,
        concurrency=concurrency or None,
        request_rate=rate or None,
        completed=whole(metrics.get("request_count", {}).get("avg")),
        # It leaves the count out where nothing failed.
        failed=whole(failed) or 0,
        facts=known(model=model),
    )


def _statistics(metrics: _Metrics) -> Iterator[tuple[str, float]]:
    for holder, tag in _LATENCIES.items():
        entry = metrics.get(tag, {})
        scale = _MILLISECONDS.get(str(entry.get("unit")).lower())
        for statistic, key in _STATISTICS.items():
            value = number(entry.get(key))
            if value is not None and scale is not None:
                yield f"{holder}.{statistic}", value * scale
    for name, tags in _TOTALS.items():
        entry = next((metrics[tag] for tag in tags if tag in metrics), {})
        value = number(entry.get("avg"))
        scale = _SECONDS.get(str(entry.get("unit")).lower()) if name == "duration_s" else 1.0
        if value is not None and scale is not None:
            yield name, value * scale


AIPERF_JSON = Importer(TOOL, _recognises_json, _read_json)
AIPERF_CSV = Importer(TOOL, _recognises_csv, _read_csv)

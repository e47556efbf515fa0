"""llm-d Benchmark Reports, 0.1 and 0.2, in YAML or JSON: statistics of one load, by whichever tool drove it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from whichbits.record.definitions import OURS
from whichbits.record.importers.guidellm import AGGREGATE as GUIDELLM_MEANING
from whichbits.record.importers.imported_cell import ImportedCell, known
from whichbits.record.importers.importer import Importer
from whichbits.record.importers.inference_perf import AGGREGATE as INFERENCE_PERF_MEANING
from whichbits.record.importers.result_file import Json, ResultFile, items, number, part, whole, words
from whichbits.record.importers.vllm_chat import COMPLETIONS, definitions
from whichbits.record.schema import Imported

TOOL = "llm-d benchmark report"

_LATENCIES = {
    "ttft_ms": "time_to_first_token",
    "ttft_from_send_ms": "time_to_first_token",
    "tpot_ms": "time_per_output_token",
    "itl_ms": "inter_token_latency",
    "e2e_ms": "request_latency",
}
_STATISTICS = ("mean", "p50", "p90", "p99")
# The key in 0.1, and that in 0.2.
_RATES = {
    "output_tokens_per_s": ("output_tokens_per_sec", "output_token_rate"),
    "total_tokens_per_s": ("total_tokens_per_sec", "total_token_rate"),
    "requests_per_s": ("requests_per_sec", "request_rate"),
}
_MILLISECONDS = {"s": 1e3, "s/token": 1e3, "ms": 1.0, "ms/token": 1.0, "us": 1e-3}
_UNSTATED = dict.fromkeys(OURS, "unstated")

# By the tool that a report names; where a backend decides, the report rarely says which it was.
_MEANINGS: dict[str, Mapping[str, str]] = {
    "inference-perf": INFERENCE_PERF_MEANING,
    # In a report, GuideLLM's time per output token is the one that contains the TTFT.
    "guidellm": {name: code for name, code in GUIDELLM_MEANING.items() if name != "tpot_ms"},
    # Its reports count from the send.
    "whichbits": COMPLETIONS,
}
_VLLM = ("vllm-benchmark", "inferencemax")

_ISO_DURATION = re.compile(r"PT(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?")


def _recognises(file: ResultFile) -> bool:
    return bool(_old(file.document) or _new(file.document))


def _old(document: Json) -> Json:
    metrics = part(document, "metrics")
    return metrics if "scenario" in document and {"latency", "requests"} <= metrics.keys() else {}


def _new(document: Json) -> Json:
    return part(document, "results", "request_performance", "aggregate")


def _read(file: ResultFile) -> list[ImportedCell]:
    document = file.document
    numbers = _old(document) or _new(document)
    settings = _settings(document)
    tool = words(settings.get("tool")) or "unknown tool"
    requests = part(numbers, "requests")
    total, failures = whole(requests.get("total")), whole(requests.get("failures"))
    return [
        ImportedCell(
            imported=Imported(
                f"{TOOL} of {tool}", _meaning(tool, settings), dict(_statistics(document, numbers, total))
            ),
            arm=_label(document) if tool == "whichbits" else _model(document),
            concurrency=whole(settings.get("concurrency")) or None,
            request_rate=number(settings.get("rate")) or None,
            completed=None if total is None else total - min(failures or 0, total),
            failed=failures,
            facts=known(
                model=_model(document), tool_version=words(settings.get("version")), hardware=_hardware(document)
            ),
        )
    ]


def _settings(document: Json) -> dict[str, Any]:
    """Return tool, version, backend, concurrency and rate of the load."""
    new = part(document, "scenario", "load", "standardized")
    if new:
        native = part(document, "scenario", "load", "native", "args")
        return {
            "tool": new.get("tool"),
            "version": new.get("tool_version"),
            "backend": native.get("backend"),
            "concurrency": new.get("concurrency"),
            "rate": new.get("rate_qps"),
        }
    load = part(document, "scenario", "load")
    given = part(load, "args")
    return {
        "tool": load.get("name"),
        "version": None,
        "backend": given.get("backend"),
        "concurrency": given.get("max_concurrency"),
        "rate": given.get("request_rate"),
    }


def _meaning(tool: str, settings: dict[str, Any]) -> dict[str, str]:
    if tool in _VLLM:
        # Without its backend a result may come from chat, whose numbers changed with the version.
        backend = words(settings.get("backend")) or "chat"
        return definitions({"tool_version": settings.get("version")}, backend)
    return dict(_MEANINGS.get(tool, _UNSTATED))


def _statistics(document: Json, numbers: Json, total: int | None) -> Iterator[tuple[str, float]]:
    for holder, name in _LATENCIES.items():
        source = part(numbers, "latency", name)
        scale = _MILLISECONDS.get(str(source.get("units")))
        for statistic in _STATISTICS:
            value = number(source.get(statistic))
            if value is not None and scale is not None:
                yield f"{holder}.{statistic}", value * scale
    rates = part(numbers, "throughput")
    for name, (old, new) in _RATES.items():
        value = number(rates.get(old, part(rates, new).get("mean")))
        if value is not None:
            yield name, value
    duration = number(part(document, "metrics", "time").get("duration")) or _iso(part(document, "run", "time"))
    if duration:
        yield "duration_s", duration
    for name, key in (("prompt_tokens", "input_length"), ("output_tokens", "output_length")):
        mean = number(part(numbers, "requests", key).get("mean"))
        if mean is not None and total is not None:
            yield name, round(mean * total)


def _iso(time: Json) -> float | None:
    found = _ISO_DURATION.fullmatch(str(time.get("duration")))
    if found is None:
        return number(time.get("duration"))
    return 3600 * float(found["h"] or 0) + 60 * float(found["m"] or 0) + float(found["s"] or 0)


def _engines(document: Json) -> list[Json]:
    each = [part(component, "standardized") for component in items(document, "scenario", "stack")]
    return [found for found in each if part(found, "model")]


def _model(document: Json) -> str | None:
    old = words(part(document, "scenario", "model").get("name"))
    return old or next((name for each in _engines(document) if (name := words(part(each, "model").get("name")))), None)


def _label(document: Json) -> str | None:
    """Return the arm that whichbits names in its own reports."""
    stack = items(document, "scenario", "stack")
    return next((words(part(each, "metadata").get("label")) for each in stack), None)


def _hardware(document: Json) -> str | None:
    old = items(document, "scenario", "host", "accelerator")
    told = [*(part(each) for each in old), *(part(each, "accelerator") for each in _engines(document))]
    for accelerator in told:
        model, count = words(accelerator.get("model")), whole(accelerator.get("count"))
        if model:
            return f"{count or 1} x {model}"
    return None


LLMD_REPORT = Importer(TOOL, _recognises, _read)

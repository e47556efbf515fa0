"""What a vLLM says of itself, in its log and over HTTP, as facts with their sources."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from whichbits.record.schema import Fact
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.logs.lines import read_lines
from whichbits.serve.logs.vllm.read import inspect
from whichbits.serve.metrics import read_exposition
from whichbits.serve.metrics.cache_config import CacheConfig

Value = str | int | float | bool | None

_LOG = "server log"
_MODELS = "/v1/models"
_METRICS = "/metrics"
_SERVER_INFO = "/server_info?config_format=json"
_CACHE_CONFIG = "vllm:cache_config_info"
_FACTS = {"num_gpu_blocks": "gpu_blocks"}
"""Where the log's readers call a fact otherwise."""
_SETTINGS = {
    "model_config": ("dtype", "quantization", "enforce_eager", "max_model_len"),
    "scheduler_config": ("max_num_seqs", "max_num_batched_tokens"),
    "parallel_config": ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"),
}


def log_facts(log_text: str) -> dict[str, Fact]:
    """Return what the log of the last start says; lists and tables become text."""
    found = inspect(read_lines(log_text))
    facts = {name: Fact(_flat(value), _LOG, found.lines.get(name)) for name, value in found.facts.items()}
    if found.engine_version is not None:
        facts["engine_version"] = Fact(found.engine_version, _LOG)
    if found.warnings:
        codes = ", ".join(warning.code for warning in found.warnings)
        facts["log_warnings"] = Fact(codes, _LOG, found.warnings[0].line)
    return facts


async def server_facts(control: ControlClient) -> dict[str, Fact]:
    """Return what a running server tells; the sources are its paths. /server_info is there in development mode only."""
    facts = _version(await control.json("/version")) | _models(await control.json(_MODELS))
    if await control.has_metrics():
        facts |= cache_facts((await control.scrape()).text)
    return facts | _settings(await control.json(_SERVER_INFO))


def cache_facts(metrics: str) -> dict[str, Fact]:
    """Return what the info metric of the KV cache tells, over all engine cores together."""
    exposition = read_exposition(metrics, "vllm:")
    if exposition is None:
        return {}
    told = {_FACTS.get(name, name): value for name, value in asdict(CacheConfig.of(exposition)).items()}
    return {name: Fact(value, f"GET {_METRICS}", _CACHE_CONFIG) for name, value in told.items() if value is not None}


def _version(answer: Any) -> dict[str, Fact]:
    match answer:
        case {"version": str(version)}:
            return {"engine_version": Fact(version, "GET /version")}
        case _:
            return {}


def _models(answer: Any) -> dict[str, Fact]:
    match answer:
        case {"data": [{"max_model_len": int(length)}, *_]}:
            return {"max_model_len": Fact(length, f"GET {_MODELS}")}
        case _:
            return {}


def _settings(answer: Any) -> dict[str, Fact]:
    """Before 0.11 the configuration is one text, which says less than the log does."""
    match answer:
        case {"vllm_config": dict() as config}:
            return dict(_chosen(config))
        case _:
            return {}


def _chosen(config: Mapping[str, Any]) -> Iterator[tuple[str, Fact]]:
    for section, names in _SETTINGS.items():
        values = config.get(section)
        for name in names:
            if isinstance(values, Mapping) and name in values:
                value = values[name]
                plain = value.removeprefix("torch.") if isinstance(value, str) else _flat(value)
                yield name, Fact(plain, f"GET {_SERVER_INFO}")


def _flat(value: Any) -> Value:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{name}: {_flat(one)}" for name, one in value.items())
        case _:
            return str(value)

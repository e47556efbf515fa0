"""GuideLLM's benchmarks.json: a cell for each benchmark of a sweep."""

from collections.abc import Iterator
from typing import Any

from whichbits.language.amounts import amount
from whichbits.record.importers.answers import NS, answered, failed
from whichbits.record.importers.imported_cell import ImportedCell, known
from whichbits.record.importers.importer import Importer
from whichbits.record.importers.result_file import Json, ResultFile, items, number, part, statistics, whole, words
from whichbits.record.schema import Imported, RequestRecord

TOOL = "guidellm"

AGGREGATE = {
    "ttft_ms": "ttft_send_no_reasoning",
    "ttft_from_send_ms": "ttft_send_no_reasoning",
    # Its inter_token_latency_ms is others' TPOT; its time_per_output_token_ms contains the TTFT and is not read.
    "tpot_ms": "tpot_token_weighted",
    "e2e_ms": "e2e_send_to_end",
    "output_tokens_per_s": "rate_window",
    "total_tokens_per_s": "rate_window",
    "requests_per_s": "rate_window",
}
# Of a request it keeps first and last token, so that its TPOT is ours, and its last token ends it.
_OF_REQUESTS = AGGREGATE | {"tpot_ms": "tpot", "e2e_ms": "e2e_send"}

_LATENCIES = {
    "ttft_ms": ("time_to_first_token_ms", 1.0),
    "ttft_from_send_ms": ("time_to_first_token_ms", 1.0),
    "tpot_ms": ("inter_token_latency_ms", 1.0),
    "e2e_ms": ("request_latency", 1e3),
}
_RATES = {
    "output_tokens_per_s": "output_tokens_per_second",
    "total_tokens_per_s": "tokens_per_second",
    "requests_per_s": "requests_per_second",
}


def _recognises(file: ResultFile) -> bool:
    benchmarks = items(file.document, "benchmarks")
    return bool(benchmarks) and all("time_to_first_token_ms" in part(each, "metrics") for each in benchmarks)


def _read(file: ResultFile) -> list[ImportedCell]:
    version = words(part(file.document, "metadata").get("guidellm_version"))
    return [_cell(benchmark, file.document, version) for benchmark in items(file.document, "benchmarks")]


def _cell(benchmark: Json, document: Json, version: str | None) -> ImportedCell:
    totals = part(benchmark, "metrics", "request_totals") or part(benchmark, "request_totals")
    completed, errored, incomplete = (whole(totals.get(key)) for key in ("successful", "errored", "incomplete"))
    records = _records(benchmark, completed, errored)
    model = _model(benchmark, document)
    concurrency, rate = _load(_strategy(benchmark))
    meaning = _OF_REQUESTS if records else AGGREGATE
    return ImportedCell(
        imported=Imported(TOOL, meaning, dict(_statistics(benchmark))),
        arm=model,
        concurrency=concurrency,
        request_rate=rate,
        completed=completed,
        failed=errored,
        records=records,
        facts=known(model=model, tool_version=version),
        notes=(f"left out, since the end of the benchmark cut them off: {amount(incomplete, 'request')}",)
        if incomplete
        else (),
    )


def _statistics(benchmark: Json) -> Iterator[tuple[str, float]]:
    metrics = part(benchmark, "metrics")
    for holder, (name, scale) in _LATENCIES.items():
        source = part(metrics, name, "successful")
        yield from statistics(holder, source, {"mean": "mean", "p50": "median"}, scale)
        yield from statistics(holder, part(source, "percentiles"), {"p90": "p90", "p99": "p99"}, scale)
    for name, key in _RATES.items():
        yield from _named(name, part(metrics, key, "successful").get("mean"))
    yield from _named("duration_s", benchmark.get("duration"))
    for name, key in (("prompt_tokens", "prompt_token_count"), ("output_tokens", "output_token_count")):
        yield from _named(name, part(metrics, key, "successful").get("total_sum"))


def _named(name: str, value: object) -> Iterator[tuple[str, float]]:
    found = number(value)
    if found is not None:
        yield name, found


def _model(benchmark: Json, document: Json) -> str | None:
    for holder in (
        part(benchmark, "config", "backend"),
        part(document, "args", "backend_kwargs"),
        part(document, "args"),
    ):
        if model := words(holder.get("model")):
            return model
    return None


def _strategy(benchmark: Json) -> Json:
    places = (("config", "strategy"), ("scheduler", "strategy"), ("args", "strategy"))
    return next((found for place in places if (found := part(benchmark, *place))), {})


def _load(strategy: Json) -> tuple[int | None, float | None]:
    """Return concurrency and request rate of a benchmark; both None where it sent as fast as it could."""
    kind = strategy.get("type_")
    if kind == "synchronous":
        return 1, None
    if kind in ("constant", "poisson", "async"):
        return None, number(strategy.get("rate")) or None
    return whole(strategy.get("streams")) or whole(strategy.get("max_concurrency")) or None, None


def _records(benchmark: Json, completed: int | None, errored: int | None) -> tuple[RequestRecord, ...]:
    """Return the requests, or none if the file holds only a sample of them."""
    good, bad = ([part(each) for each in items(benchmark, "requests", kind)] for kind in ("successful", "errored"))
    if not good or len(good) != completed or len(bad) != (errored or 0):
        return ()
    told = sorted(((_start(each), each, True) for each in good), key=lambda entry: entry[0])
    told = sorted([*told, *((_start(each), each, False) for each in bad)], key=lambda entry: entry[0])
    origin = told[0][0]
    return tuple(
        _answered(at, start - origin, each) if succeeded else _errored(at, start - origin, each)
        for at, (start, each, succeeded) in enumerate(told)
    )


def _start(request: Json) -> float:
    return number(request.get("request_start_time")) or number(request.get("start_time")) or 0.0


def _answered(index: int, sent_s: float, request: Json) -> RequestRecord:
    tokens = whole(request.get("output_tokens"))
    first = number(request.get("time_to_first_token_ms"))
    gap = number(request.get("inter_token_latency_ms"))
    sent, chunks = round(sent_s * NS), list[int]()
    if first:
        chunks.append(sent + round(first * 1e6))
    if first and gap is not None and tokens is not None and tokens > 1:
        chunks.append(chunks[0] + round(gap * (tokens - 1) * 1e6))
    carried = (1, (tokens or 1) - 1)[: len(chunks)]
    latency = number(request.get("request_latency"))
    return answered(
        index,
        sent,
        chunks,
        carried,
        prompt_tokens=whole(request.get("prompt_tokens")),
        output_tokens=tokens,
        finished_ns=None if latency is None else sent + round(latency * NS),
    )


def _errored(index: int, sent_s: float, request: Json) -> RequestRecord:
    error: Any = part(request, "info").get("error") or request.get("error")
    return failed(index, round(sent_s * NS), whole(request.get("prompt_tokens")), words(error))


GUIDELLM = Importer(TOOL, _recognises, _read)

"""inference-perf's lifecycle reports: of a stage, of the whole run, and of each request."""

from collections.abc import Iterator
from itertools import groupby

from whichbits.record.importers.answers import NS, answered, failed
from whichbits.record.importers.imported_cell import ImportedCell
from whichbits.record.importers.importer import Importer
from whichbits.record.importers.result_file import Json, ResultFile, items, number, part, statistics, whole, words
from whichbits.record.schema import Imported, RequestRecord

TOOL = "inference-perf"

AGGREGATE = {
    "ttft_ms": "ttft_send_tokens_by_client",
    "ttft_from_send_ms": "ttft_send_tokens_by_client",
    "tpot_ms": "tpot_tokens_by_client",
    "itl_ms": "itl_tokens",
    "e2e_ms": "e2e_send_to_end",
    "output_tokens_per_s": "rate_whole_tokens_by_client",
    "total_tokens_per_s": "rate_whole_tokens_by_client",
    "requests_per_s": "rate_whole",
}
# Tokens of one chunk share its time, so that the chunks can be told apart again.
_OF_REQUESTS = AGGREGATE | {"itl_ms": "itl_chunks", "e2e_ms": "e2e_send"}
# Early releases kept a time for every event, also those without text: then neither gaps nor first token are known.
_OF_EVENTS = {name: code for name, code in _OF_REQUESTS.items() if name.endswith("_per_s")}

_LATENCIES = {
    "ttft_ms": "time_to_first_token",
    "ttft_from_send_ms": "time_to_first_token",
    "tpot_ms": "time_per_output_token",
    "itl_ms": "inter_token_latency",
    "e2e_ms": "request_latency",
}
_STATISTICS = {"mean": "mean", "p50": "median", "p90": "p90", "p99": "p99"}
_RATES = {
    "output_tokens_per_s": "output_tokens_per_sec",
    "total_tokens_per_s": "total_tokens_per_sec",
    "requests_per_s": "requests_per_sec",
}
_MORE_TIMES_THAN_TOKENS = "times were kept for events without text: latencies are not read"
_STAGES_TOGETHER = "the file does not say the load: it may hold several stages"


def _recognises_summary(file: ResultFile) -> bool:
    return "load_summary" in file.document and bool(part(file.document, "successes", "latency"))


def _read_summary(file: ResultFile) -> list[ImportedCell]:
    load, successes = part(file.document, "load_summary"), part(file.document, "successes")
    concurrency, rate = whole(load.get("concurrency")) or None, number(load.get("requested_rate")) or None
    return [
        ImportedCell(
            imported=Imported(TOOL, AGGREGATE, dict(_statistics(file.document))),
            concurrency=concurrency,
            # A stage of fixed concurrency states a rate, too, which nothing was paced by.
            request_rate=None if concurrency else rate,
            completed=whole(successes.get("count")),
            failed=whole(part(file.document, "failures").get("count")),
            notes=() if concurrency or rate else (_STAGES_TOGETHER,),
        )
    ]


def _statistics(document: Json) -> Iterator[tuple[str, float]]:
    successes = part(document, "successes")
    for holder, name in _LATENCIES.items():
        yield from statistics(holder, part(successes, "latency", name), _STATISTICS, 1e3)
    for name, key in _RATES.items():
        value = number(part(successes, "throughput").get(key))
        if value is not None:
            yield name, value
    duration = number(document.get("benchmark_time_seconds"))
    if duration:
        yield "duration_s", duration
    count = whole(successes.get("count"))
    for name, key in (("prompt_tokens", "prompt_len"), ("output_tokens", "output_len")):
        mean = number(part(successes, key).get("mean"))
        if mean is not None and count is not None:
            yield name, round(mean * count)


def _recognises_requests(file: ResultFile) -> bool:
    return bool(file.objects) and all({"start_time", "end_time", "info"} <= each.keys() for each in file.objects)


def _read_requests(file: ResultFile) -> list[ImportedCell]:
    told = sorted(file.objects, key=lambda each: number(each.get("start_time")) or 0.0)
    origin = number(told[0].get("start_time")) or 0.0
    records = tuple(_record(index, each, origin) for index, each in enumerate(told))
    odd = any(len(_times(each)) > (_output_tokens(each) or 0) for each in told if not each.get("error"))
    return [
        ImportedCell(
            imported=Imported(TOOL, _OF_EVENTS if odd else _OF_REQUESTS),
            completed=sum(record.succeeded for record in records),
            failed=sum(not record.succeeded for record in records),
            records=records,
            notes=(_STAGES_TOGETHER, *((_MORE_TIMES_THAN_TOKENS,) if odd else ())),
        )
    ]


def _record(index: int, told: Json, origin: float) -> RequestRecord:
    sent, prompt = _ns(told.get("start_time"), origin), whole(part(told, "info").get("input_tokens"))
    if told.get("error"):
        return failed(index, sent, prompt, words(part(told, "error").get("error_msg")) or "not said")
    chunks = [(at, len(list(tokens))) for at, tokens in groupby(_times(told))]
    return answered(
        index,
        sent,
        [_ns(at, origin) for at, _ in chunks],
        [tokens for _, tokens in chunks],
        prompt_tokens=prompt,
        output_tokens=_output_tokens(told),
        finished_ns=_ns(told.get("end_time"), origin),
    )


def _ns(seconds: object, origin: float) -> int:
    return round(((number(seconds) or origin) - origin) * NS)


def _times(told: Json) -> list[float]:
    """Return the time of each token; they lay flat in ``info`` before 0.4."""
    info = part(told, "info")
    found = items(info, "response_metrics", "output_token_times") or items(info, "output_token_times")
    return [at for at in map(number, found) if at is not None]


def _output_tokens(told: Json) -> int | None:
    info = part(told, "info")
    return whole(part(info, "response_metrics").get("output_tokens", info.get("output_tokens")))


INFERENCE_PERF_SUMMARY = Importer(TOOL, _recognises_summary, _read_summary)
INFERENCE_PERF_REQUESTS = Importer(TOOL, _recognises_requests, _read_requests)

"""Results of ``vllm bench serve`` (0.6 to 0.33) and SGLang's ``bench_serving``, which descends from it, as cells."""

from collections.abc import Iterator
from typing import Any

from whichbits.record.importers.bench_json import Facts, read_bench_json
from whichbits.record.importers.bench_requests import UNEQUAL_LISTS, has_requests, one_clock, requests
from whichbits.record.importers.imported_cell import ImportedCell, known
from whichbits.record.importers.importer import Importer
from whichbits.record.importers.result_file import ResultFile, number, statistics, whole, words
from whichbits.record.importers.vllm_chat import COMPLETIONS, definitions
from whichbits.record.schema import Imported, RequestRecord

VLLM, SGLANG = "vllm bench serve", "sglang bench_serving"

_STATISTICS = ({"mean": "mean", "p50": "median"}, {"p50": "p50", "p90": "p90", "p99": "p99"})
_HOLDERS = {"ttft_ms": "ttft", "ttft_from_send_ms": "ttft", "tpot_ms": "tpot", "itl_ms": "itl", "e2e_ms": "e2e"}
_TOTALS = {
    "prompt_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "duration_s": "duration_s",
    "output_tokens_per_s": "output_throughput",
    "total_tokens_per_s": "total_throughput",
    "requests_per_s": "request_throughput",
}

_SGLANG = COMPLETIONS | {"ttft_ms": "ttft_send_zero_if_unmeasured", "ttft_from_send_ms": "ttft_send_zero_if_unmeasured"}
_SGLANG_CHAT = _SGLANG | {
    "ttft_ms": "ttft_chat_unknown",
    "ttft_from_send_ms": "ttft_chat_unknown",
    "tpot_ms": "tpot_chat_unknown",
    "itl_ms": "itl_chat_unknown",
}
_SGLANG_ONLY = ("total_output_tokens_retokenized", "mean_e2e_latency_ms")


def _recognise_vllm(file: ResultFile) -> bool:
    return bool(read_bench_json(file.text)) and not _by_sglang(file)


def _recognise_sglang(file: ResultFile) -> bool:
    return bool(read_bench_json(file.text)) and _by_sglang(file)


def _by_sglang(file: ResultFile) -> bool:
    return any(key in record for record in file.objects for key in _SGLANG_ONLY)


def _read(file: ResultFile) -> list[ImportedCell]:
    told = zip(file.json.values, read_bench_json(file.text), strict=True)
    return [_cell(record, facts) for record, facts in told]


def _cell(record: dict[str, Any], facts: Facts) -> ImportedCell:
    records = requests(record) if has_requests(record) else ()
    tool, meaning = _meaning(record, facts)
    imported = Imported(tool, meaning, dict(_statistics(facts)), one_clock=one_clock(record))
    completed = whole(facts.get("completed"))
    return ImportedCell(
        imported=imported,
        arm=words(facts.get("label")) or words(facts.get("model_id")),
        concurrency=whole(facts.get("max_concurrency")) or None,
        request_rate=number(facts.get("request_rate")) or None,
        completed=completed,
        failed=_failed(facts, completed, records or ()),
        records=records or (),
        facts=known(model=words(facts.get("model_id")), backend=words(facts.get("backend"))),
        notes=(UNEQUAL_LISTS,) if records is None else (),
    )


def _meaning(record: dict[str, Any], facts: Facts) -> tuple[str, dict[str, str]]:
    backend = words(facts.get("backend"))
    if any(key in record for key in _SGLANG_ONLY):
        return SGLANG, _SGLANG_CHAT if backend is not None and "chat" in backend else _SGLANG
    return VLLM, definitions(record, backend)


def _statistics(facts: Facts) -> Iterator[tuple[str, float]]:
    for holder, quantity in _HOLDERS.items():
        for names in _STATISTICS:
            keys = {statistic: f"{key}_{quantity}_ms" for statistic, key in names.items()}
            yield from statistics(holder, facts, keys)
    for name, key in _TOTALS.items():
        value = number(facts.get(key))
        if value is not None:
            yield name, value


def _failed(facts: Facts, completed: int | None, records: list[RequestRecord] | tuple[()]) -> int | None:
    """Return how many failed: by the requests, by the tool, or sent less completed."""
    if records:
        return sum(not record.succeeded for record in records)
    told, sent = whole(facts.get("failed")), whole(facts.get("num_prompts"))
    if told is not None or sent is None or completed is None:
        return told
    return max(0, sent - completed)


VLLM_BENCH = Importer(VLLM, _recognise_vllm, _read)
SGLANG_BENCH = Importer(SGLANG, _recognise_sglang, _read)

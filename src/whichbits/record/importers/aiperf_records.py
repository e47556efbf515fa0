"""AIPerf's profile_export.jsonl (``--export-level records``): a line a request, without the load."""

from itertools import accumulate

from whichbits.record.importers.aiperf import MEANING, TOOL
from whichbits.record.importers.answers import answered, failed
from whichbits.record.importers.imported_cell import ImportedCell
from whichbits.record.importers.importer import Importer
from whichbits.record.importers.result_file import Json, ResultFile, items, number, part, whole, words
from whichbits.record.schema import Imported, RequestRecord

_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9}
_WITHOUT_GAPS = {name: code for name, code in MEANING.items() if name != "itl_ms"}
_NO_LOAD = "the file does not say the load"


def _recognises(file: ResultFile) -> bool:
    return bool(file.objects) and all(
        {"request_start_ns", "benchmark_phase"} <= part(each, "metadata").keys() and "metrics" in each
        for each in file.objects
    )


def _read(file: ResultFile) -> list[ImportedCell]:
    measured = [each for each in file.objects if part(each, "metadata").get("benchmark_phase") == "profiling"]
    told = sorted(measured, key=_start)
    origin = _start(told[0]) if told else 0
    records = tuple(_record(index, each, origin) for index, each in enumerate(told))
    gaps_kept = all(_gaps(each) or not _good(each) or (_tokens(each) or 0) < 2 for each in told)
    return [
        ImportedCell(
            imported=Imported(TOOL, MEANING if gaps_kept else _WITHOUT_GAPS),
            completed=sum(record.succeeded for record in records),
            failed=sum(not record.succeeded for record in records),
            records=records,
            notes=(_NO_LOAD,),
        )
    ]


def _start(told: Json) -> int:
    """Return the send in nanoseconds of Unix time, which is more than any measurement."""
    start = part(told, "metadata").get("request_start_ns")
    return start if isinstance(start, int) else 0


def _good(told: Json) -> bool:
    return not told.get("error") and part(told, "metadata").get("was_cancelled") is not True


def _record(index: int, told: Json, origin: int) -> RequestRecord:
    sent = _start(told) - origin
    prompt = whole(part(told, "metrics", "input_sequence_length").get("value"))
    if not _good(told):
        return failed(index, sent, prompt, words(part(told, "error").get("message")) or "cancelled")
    first, latency = _ns(told, "time_to_first_token"), _ns(told, "request_latency")
    chunks = [] if first is None else [sent + round(at) for at in accumulate([first, *_gaps(told)])]
    if len(chunks) == 1 and latency is not None and (_tokens(told) or 0) > 1:
        chunks.append(sent + round(latency))
    return answered(
        index,
        sent,
        chunks,
        (1,) * len(chunks),
        prompt_tokens=prompt,
        output_tokens=_tokens(told),
        finished_ns=None if latency is None else sent + round(latency),
    )


def _tokens(told: Json) -> int | None:
    return whole(part(told, "metrics", "output_sequence_length").get("value"))


def _ns(told: Json, tag: str) -> float | None:
    entry = part(told, "metrics", tag)
    value, scale = number(entry.get("value")), _NS.get(str(entry.get("unit")))
    return None if value is None or scale is None else value * scale


def _gaps(told: Json) -> list[float]:
    """Return the gaps between chunks in nanoseconds."""
    scale = _NS.get(str(part(told, "metrics", "inter_chunk_latency").get("unit")), 0.0)
    found = map(number, items(told, "metrics", "inter_chunk_latency", "value"))
    return [gap * scale for gap in found if gap is not None]


AIPERF_RECORDS = Importer(TOOL, _recognises, _read)

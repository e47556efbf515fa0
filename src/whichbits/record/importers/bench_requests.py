"""Requests from the lists of a detailed ``vllm bench serve`` or SGLang result."""

from collections.abc import Sequence
from typing import Any

from whichbits.record.importers.answers import NS, answered, failed
from whichbits.record.importers.result_file import number, whole
from whichbits.record.schema import RequestRecord

_NEEDED = ("input_lens", "output_lens", "ttfts", "itls")

UNEQUAL_LISTS = "the lists of requests have different lengths: only the tool's statistics are read"


def has_requests(record: dict[str, Any]) -> bool:
    """Say whether the result keeps its requests."""
    return all(isinstance(record.get(key), list) for key in _NEEDED) and bool(record["ttfts"])


def one_clock(record: dict[str, Any]) -> bool:
    """Say whether sends can be placed against each other: start times came with 0.15."""
    starts = record.get("start_times")
    return isinstance(starts, list) and bool(starts) and all(number(start) is not None for start in starts)


def requests(record: dict[str, Any]) -> list[RequestRecord] | None:
    """Return the requests in the order of the lists, or None if the lists do not belong together."""
    lists = {key: record[key] for key in _NEEDED}
    count = len(lists["ttfts"])
    optional = {key: record.get(key) for key in ("errors", "latencies", "start_times")}
    lists |= {key: value if isinstance(value, list) else [None] * count for key, value in optional.items()}
    if any(len(values) != count for values in lists.values()):
        return None
    origin = min(record["start_times"]) if one_clock(record) else 0.0
    return [_request(at, {key: values[at] for key, values in lists.items()}, origin) for at in range(count)]


def _request(index: int, told: dict[str, Any], origin: float) -> RequestRecord:
    sent = round(((number(told["start_times"]) or origin) - origin) * NS)
    prompt_tokens, output_tokens, ttft = whole(told["input_lens"]), whole(told["output_lens"]), number(told["ttfts"])
    if told["errors"] or not output_tokens:
        error = told["errors"] if isinstance(told["errors"], str) and told["errors"] else "no output"
        return failed(index, sent, prompt_tokens, error)
    # A TTFT of 0 was not measured: the answer did not stream.
    chunks = _chunks(sent, ttft, told["itls"]) if ttft else ()
    latency = number(told["latencies"])
    finished = None if latency is None else sent + round(latency * NS)
    return answered(
        index,
        sent,
        chunks,
        (1,) * len(chunks),
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        finished_ns=finished,
    )


def _chunks(sent: int, ttft: float, gaps: object) -> Sequence[int]:
    at, chunks = ttft, [sent + round(ttft * NS)]
    for gap in gaps if isinstance(gaps, list) else ():
        at += number(gap) or 0.0
        chunks.append(sent + round(at * NS))
    return tuple(chunks)

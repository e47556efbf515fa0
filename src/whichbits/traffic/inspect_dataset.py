"""Tell whether a file is a data set or a trace that traffic can be made of, and how much of it is usable."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from whichbits.language.amounts import amount
from whichbits.record.inspection import Inspection, Problem
from whichbits.record.json_records import JsonRecords, read_json_records
from whichbits.traffic.conversations import Exchanged, first_exchange, turns_of
from whichbits.traffic.traces import Arrival, Trace, read_trace_records, read_trace_table

Facts = dict[str, Any]

_PROMPT_KEYS = ("prompt", "instruction", "question", "text_input", "turns", "text")
_WRAPPERS = ("data", "rows", "train")
_WRAPPED = ("row", "body")
"""What stands around a record in a dump of Hugging Face's viewer, and around a request in OpenAI's batch files."""


class _Rows(NamedTuple):
    """How many rows can be used, why the others cannot, and whether the file ends too early."""

    usable: int
    unusable: dict[str, int]
    cut_off: bool


def recognise(name: str, text: str) -> Inspection | None:  # noqa: ARG001 - data sets are known by what they hold
    """Return what a ShareGPT-like data set, a list of prompts or a trace holds, or None if ``text`` is none.

    ``rows_usable`` and ``rows_failed`` add up to ``records``; ``unusable`` counts the reasons. Limits on tokens, such
    as those of vLLM's ShareGPT reader (prompt 4 to 1024, answer at least 4, both at most 2048), need a tokenizer and
    are not applied.
    """
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return _of_records(_bare(read_json_records(text)))
    trace = read_trace_table(text)
    return _of_trace(trace, JsonRecords([])) if trace is not None else None


def _bare(records: JsonRecords) -> JsonRecords:
    """Take off what files put around their records."""
    values = records.values
    if len(values) == 1 and isinstance(values[0], Mapping):
        lists = [inner for key in _WRAPPERS if isinstance(inner := values[0].get(key), list)]
        values = lists[0] if lists else values
    return records._replace(values=[_unwrapped(value) for value in values])


def _unwrapped(record: Any) -> Any:
    if not isinstance(record, Mapping):
        return record
    return next((inner for key in _WRAPPED if isinstance(inner := record.get(key), Mapping)), record)


def _of_records(records: JsonRecords) -> Inspection | None:
    trace = read_trace_records(records.values)
    if trace is not None:
        return _of_trace(trace, records)
    objects = [record for record in records.values if isinstance(record, Mapping)]
    if any(turns_of(record) is not None for record in objects):
        return _of_conversations(objects, records)
    with_prompt = [record for record in records.values if _may_be_prompt(record)]
    return _of_prompts(records) if 2 * len(with_prompt) > len(records.values) else None


def _may_be_prompt(record: Any) -> bool:
    return isinstance(record, str) or (isinstance(record, Mapping) and any(key in record for key in _PROMPT_KEYS))


def _of_conversations(objects: list[Mapping[str, Any]], records: JsonRecords) -> Inspection:
    read = [first_exchange(record) for record in records.values]
    usable = [exchange for exchange in read if isinstance(exchange, Exchanged)]
    unusable = [reason for reason in read if not isinstance(reason, Exchanged)]
    turns = [len(turns_of(record) or ()) for record in objects]
    misplaced = sum(not exchange.first for exchange in usable)
    in_messages = all("messages" in record for record in objects if turns_of(record) is not None)
    facts: Facts = {
        "rows_two_turns": sum(count >= 2 for count in turns),
        "rows_not_by_position": misplaced,
        "turns": sum(turns),
        **_spread("prompt_characters", [len(exchange.prompt) for exchange in usable]),
        **_spread("answer_characters", [len(exchange.answer) for exchange in usable]),
    }
    warning = Problem(
        "roles_not_by_position", f"{amount(misplaced, 'row')} without a question and its answer at the beginning"
    )
    data_format = "chat_messages" if in_messages else "sharegpt"
    return _inspection(data_format, _rows(len(usable), unusable, records), facts, (warning,) if misplaced else ())


def _of_prompts(records: JsonRecords) -> Inspection:
    prompts = [_prompt(record) for record in records.values]
    usable = [prompt for prompt in prompts if prompt]
    unusable = ["empty_prompt"] * (len(prompts) - len(usable))
    facts = _spread("prompt_characters", [len(prompt) for prompt in usable])
    return _inspection("prompts", _rows(len(usable), unusable, records), facts)


def _prompt(record: Any) -> str:
    """Return the first prompt of a record; some hold one for each turn, some the messages of a chat."""
    value = (
        next((record[key] for key in _PROMPT_KEYS if key in record), None) if isinstance(record, Mapping) else record
    )
    first = value[0] if isinstance(value, list) and value else value
    first = first.get("content") if isinstance(first, Mapping) else first
    return first.strip() if isinstance(first, str) else ""


def _of_trace(trace: Trace, records: JsonRecords) -> Inspection:
    arrivals = trace.arrivals
    times = [arrival.at_s for arrival in arrivals]
    sessions = {arrival.session for arrival in arrivals if arrival.session is not None}
    not_objects = ["not_an_object"] * (len(records.values) - len(arrivals) - len(trace.unusable))
    facts: Facts = {
        **_pace(times),
        **_spread("prompt_tokens", [arrival.prompt_tokens for arrival in arrivals]),
        **_spread("output_tokens", [arrival.output_tokens for arrival in arrivals]),
        "sessions": len(sessions) or None,
        "repeated_block_share": _repeated_block_share(arrivals),
    }
    backwards = any(later < earlier for earlier, later in itertools.pairwise(times))
    warnings = (Problem("timestamps_not_sorted"),) if backwards else ()
    rows = _rows(len(arrivals), [*trace.unusable, *not_objects], records)
    return _inspection(trace.format, rows, facts, warnings)


def _pace(times: list[float]) -> Facts:
    """Return the trace's span in seconds, and requests a second over it."""
    span_s = max(times) - min(times) if times else None
    return {"span_s": span_s, "mean_request_rate": (len(times) - 1) / span_s if span_s else None}


def _repeated_block_share(arrivals: list[Arrival]) -> float | None:
    """Return the share of prompt blocks that came before: the hits of a cache that forgets nothing."""
    blocks = [block for arrival in arrivals for block in arrival.blocks]
    return 1 - len(set(blocks)) / len(blocks) if blocks else None


def _spread(name: str, sizes: Sequence[int]) -> Facts:
    """Return the sum, mean, median and p99 (linear interpolation) of ``sizes``; None where there are none."""
    if not sizes:
        return dict.fromkeys((f"total_{name}", f"mean_{name}", f"median_{name}", f"p99_{name}"))
    import numpy as np  # only here, so that no other kind of file waits for it

    total = sum(sizes)
    median, p99 = np.percentile(sizes, (50, 99))
    return {
        f"total_{name}": total,
        f"mean_{name}": total / len(sizes),
        f"median_{name}": float(median),
        f"p99_{name}": float(p99),
    }


def _rows(usable: int, unusable: Iterable[str], records: JsonRecords) -> _Rows:
    reasons = Counter([*unusable, *("not_json" for _ in records.broken_lines)])
    return _Rows(usable, dict(reasons.most_common()), records.cut_off)


def _inspection(data_format: str, rows: _Rows, facts: Facts, warnings: tuple[Problem, ...] = ()) -> Inspection:
    failed = sum(rows.unusable.values())
    counts: Facts = {
        "format": data_format,
        "records": rows.usable + failed,
        "rows_usable": rows.usable,
        "rows_failed": failed,
        "unusable": rows.unusable,
    }
    return Inspection("dataset", None, None, counts | facts, _errors(rows), warnings)


def _errors(rows: _Rows) -> tuple[Problem, ...]:
    errors: list[Problem] = []
    if rows.cut_off:
        errors.append(Problem("file_cut_off", "the text ends inside a record or an array"))
    if not rows.usable:
        errors.append(Problem("no_usable_rows"))
    return tuple(errors)

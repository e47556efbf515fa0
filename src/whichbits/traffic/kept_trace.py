"""A trace kept in columns: millions of requests, in order of time, without those that a study finds too long."""

from array import array
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from whichbits.traffic.draws import Floats, Integers
from whichbits.traffic.facts import Counts, file_facts, without_usable_row
from whichbits.traffic.rows import each_row
from whichbits.traffic.traces import Arrival, TraceFormat, each_record_arrival, each_table_arrival
from whichbits.traffic.version import FileVersion, unreadable, version_of

Limits = tuple[int | None, int | None]
_LOOKED_AT = 1024


@dataclass(frozen=True)
class KeptTrace:
    """A trace's usable requests in order of time, one entry a request; ``blocks`` is empty where there are no hashes.

    Columns, since traces have millions of rows: 24 bytes a request, and its hashes.
    """

    format: TraceFormat
    at_s: Floats
    prompt_tokens: Integers
    output_tokens: Integers
    blocks: list[tuple[int, ...]]
    counts: Counts

    def __len__(self) -> int:
        """Return the number of usable requests."""
        return len(self.at_s)

    @property
    def span_s(self) -> float:
        """Seconds from the first arrival to the last."""
        return float(self.at_s[-1] - self.at_s[0])

    @property
    def mean_gap_s(self) -> float:
        """Mean seconds between arrivals; 0 for a trace without a span."""
        return self.span_s / max(1, len(self) - 1)

    def times_s(self, count: int) -> Floats:
        """Return the first ``count`` arrivals' seconds after the first; after the last, the trace begins anew."""
        lap, row = np.divmod(np.arange(count), len(self))
        times: Floats = self.at_s[row] - self.at_s[0] + lap * (self.span_s + self.mean_gap_s)
        return times


def kept_trace(path: str, limits: Limits = (None, None)) -> KeptTrace:
    """Return the trace at ``path`` without requests beyond ``limits`` (prompt, answer).

    Raises:
        BadInput: ``traffic_file_unreadable``, ``traffic_file_unusable``.
    """
    return _kept(version_of(path), limits)


@lru_cache(maxsize=4)
def _kept(version: FileVersion, limits: Limits) -> KeptTrace:
    counts = Counts()
    at_s, prompts, outputs, blocks = array("d"), array("q"), array("q"), list[tuple[int, ...]]()
    try:
        with _arrivals(version.path) as (trace_format, rows):
            for number, read in enumerate(rows, 1):
                reason = _too_long(read, limits) if isinstance(read, Arrival) else read
                counts.count(number, reason)
                if isinstance(read, Arrival) and reason is None:
                    at_s.append(read.at_s)
                    prompts.append(read.prompt_tokens)
                    outputs.append(read.output_tokens)
                    blocks.append(read.blocks)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(version.path, error) from None
    if trace_format is None or not counts.usable:
        raise without_usable_row(version.path, counts, "a trace of Mooncake, BurstGPT or Azure")
    order = np.argsort(np.array(at_s), kind="stable")
    hashes = [blocks[row] for row in order.tolist()] if any(blocks) else []
    times, prompt_tokens, output_tokens = (np.array(column)[order] for column in (at_s, prompts, outputs))
    return KeptTrace(trace_format, times, prompt_tokens, output_tokens, hashes, counts)


@contextmanager
def _arrivals(path: Path) -> Iterator[tuple[TraceFormat | None, Iterator[Arrival | str]]]:
    """Give the rows of a table, or of JSON if the file begins like it; lines that are none count as no objects."""
    if _begins_like_json(path):
        with path.open("rb") as file:
            yield each_record_arrival(row.value for row in each_row(file))
    else:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield each_table_arrival(lines)


def _begins_like_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_LOOKED_AT).removeprefix(BOM_UTF8).lstrip().startswith((b"{", b"["))


def trace_facts(path: str, limits: Limits = (None, None)) -> dict[str, Any]:
    """Return what a run records of a trace."""
    version = version_of(path)
    kept = _kept(version, limits)
    rate = 1 / kept.mean_gap_s if kept.mean_gap_s else None
    return file_facts(version, kept.counts, format=kept.format, span_s=kept.span_s, mean_request_rate=rate)


def _too_long(arrival: Arrival, limits: Limits) -> str | None:
    longest_input, longest_output = limits
    if longest_input is not None and arrival.prompt_tokens > longest_input:
        return "prompt_too_long"
    return "answer_too_long" if longest_output is not None and arrival.output_tokens > longest_output else None

"""Do the books balance? What the client received against what the engines counted, cell by cell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichbits.analyze.engine.counted import CellCounts, Counted
from whichbits.analyze.engine.explanations import Explanation, Page, Total, explain
from whichbits.record.arrays import booleans, floats, integers
from whichbits.record.schema import Cell
from whichbits.record.timelines import Booleans, Floats, Ints
from whichbits.serve.metrics import Count, EngineCounters


@dataclass(frozen=True)
class Difference:
    """One total on which client and engine do not agree, and why where that is known.

    ``replica`` is None for all of them together; ``engine`` is None, and ``engine_label`` names the core, where an
    engine lost its count. ``text`` says why in words, or is empty.
    """

    replica: str | None
    engine_label: str | None
    total: Total
    client: int | None
    engine: int | None
    explanation: Explanation | None
    text: str


@dataclass(frozen=True)
class _Client:
    """What the client knows, an entry a request; NaN is missing."""

    good: Booleans
    asked: Ints
    prompt: Floats
    output: Floats

    @classmethod
    def of(cls, requests: pa.Table) -> Self:
        good = booleans(pc.is_null(requests["error_code"]))
        tokens = (floats(requests[name]) for name in ("prompt_tokens", "output_tokens"))
        return cls(good, integers(requests["requested_output_tokens"]), *tokens)

    def of_rows(self, chosen: Sequence[bool]) -> Self:
        rows = np.array(chosen, dtype=np.bool_)
        return type(self)(self.good[rows], self.asked[rows], self.prompt[rows], self.output[rows])

    def received(self) -> Mapping[Total, int | None]:
        prompt = _sum(self.prompt[self.good])
        return {
            "requests_finished": int(self.good.sum()),
            "prompt_tokens": prompt,
            "generation_tokens": _sum(self.output[self.good]),
            "prefix_queries": prompt,
        }


def differences(pages: Iterable[Page]) -> dict[int, list[Difference]]:
    """Return what does not balance, by cell, each explained as far as it can be; balanced cells are left out."""
    by_arm: dict[str, list[Page]] = {}
    for page in pages:
        by_arm.setdefault(page.arm, []).append(page)
    found: dict[int, list[Difference]] = {}
    for arm in by_arm.values():
        for page in arm:
            if wrong := _of_page(page, arm):
                found.setdefault(page.cell, []).extend(wrong)
    return found


def pages(cell: Cell, requests: pa.Table, counts: CellCounts, *, sent_as_text: bool = False) -> list[Page]:
    """Open one cell's books: a page a replica where the client knows which one answered, else one for all."""
    client, replicas = _Client.of(requests), requests["replica"].to_pylist()
    if None in replicas:
        return [_page(cell, None, client, list(counts.values()), sent_as_text=sent_as_text)] if counts else []
    return [
        _page(
            cell,
            replica,
            client.of_rows([each == replica for each in replicas]),
            [counts[replica]],
            sent_as_text=sent_as_text,
        )
        for replica in sorted(counts)
    ]


def engine_total(engines: Sequence[EngineCounters], count: Count) -> int | None:
    """Add up replicas; None if there are none or one of them does not say."""
    values = [getattr(engine, count) for engine in engines]
    return None if not values or None in values else sum(values)


def _of_page(page: Page, arm: Sequence[Page]) -> list[Difference]:
    if page.restarted:
        why, text = explain(page, arm)
        total: Total = "requests_finished"
        cores = page.restarted
        return [Difference(page.replica, core or None, total, page.client[total], None, why, text) for core in cores]
    wrong = [total for total in get_args(Total) if page.over(total)]
    why, text = explain(page, arm) if wrong else (None, "")
    return [Difference(page.replica, None, total, page.client[total], page.engine[total], why, text) for total in wrong]


def _page(cell: Cell, replica: str | None, client: _Client, counted: Sequence[Counted], *, sent_as_text: bool) -> Page:
    engines = [one.total for one in counted]
    return Page(
        cell=cell.cell,
        arm=cell.arm,
        replica=replica,
        client=client.received(),
        engine=_engine_totals(engines),
        failed=int((~client.good).sum()),
        failed_output_tokens=int(client.asked[~client.good].sum()),
        preemptions=engine_total(engines, "preemptions"),
        restarted=tuple(core for one in counted for core in one.restarted),
        sent_as_text=sent_as_text,
    )


def _engine_totals(engines: Sequence[EngineCounters]) -> Mapping[Total, int | None]:
    """Add up replicas; of the requests, those that were not cut off."""
    finished, aborted = (engine_total(engines, count) for count in ("requests_finished", "requests_aborted"))
    # Blocks hold whole blocks of a prompt only: they cannot be held against its tokens. And an engine that caches
    # nothing looks nothing up.
    in_tokens = all(engine.cache_unit == "tokens" and engine.prefix_queries for engine in engines)
    return {
        "requests_finished": None if finished is None else finished - (aborted or 0),
        "prompt_tokens": engine_total(engines, "prompt_tokens"),
        "generation_tokens": engine_total(engines, "generation_tokens"),
        "prefix_queries": engine_total(engines, "prefix_queries") if in_tokens else None,
    }


def _sum(per_request: Floats) -> int | None:
    return None if np.isnan(per_request).any() else int(per_request.sum())

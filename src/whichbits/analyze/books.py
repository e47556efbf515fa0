"""Do the books balance? What the client received against what the engines counted, cell by cell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichbits.record.scrapes import Scrape
from whichbits.record.timelines import Floats, Timelines
from whichbits.serve.metrics import EngineCounters, Prefix, difference, read_counters

Growth = dict[int, dict[str, EngineCounters]]
"""What each replica counted during a cell, by cell and replica."""

Count = Literal["requests_finished", "prompt_tokens", "cached_prompt_tokens", "generation_tokens"]


@dataclass(frozen=True)
class Imbalance:
    """One total on which client and engine do not agree; ``replica`` is None for all of them together."""

    replica: str | None
    total: Count
    client: int
    engine: int


def growth(scrapes: Iterable[Scrape]) -> Growth:
    """Return what each replica counted between the scrapes before and after each cell."""
    before: Growth = {}
    grown: Growth = {}
    for scrape in sorted(scrapes, key=lambda scrape: scrape.time_ns):
        if scrape.cell is None or scrape.phase == "during":
            continue
        counters = _counters(scrape.text)
        if scrape.phase == "before":
            before.setdefault(scrape.cell, {})[scrape.replica] = counters
        elif scrape.replica in before.get(scrape.cell, {}):
            since = before[scrape.cell][scrape.replica]
            grown.setdefault(scrape.cell, {})[scrape.replica] = difference(since, counters)
    return grown


def engine_total(engines: Sequence[EngineCounters], count: Count) -> int | None:
    """Add up replicas; None if there are none or one of them does not say."""
    values = [getattr(engine, count) for engine in engines]
    return None if not values or None in values else sum(values)


def imbalances(requests: pa.Table, engines: Mapping[str, EngineCounters]) -> list[Imbalance]:
    """Compare one cell's requests with its engines' counters, replica by replica where the client knows them.

    What one side does not say is not compared. Nor is anything after a failed request: it leaves work in the
    engine's counters that no answer shows.
    """
    if requests["error_code"].null_count < requests.num_rows:
        return []
    if requests["replica"].null_count:
        return compare(None, Timelines.of(requests), list(engines.values()))
    return [
        imbalance
        for replica, counters in sorted(engines.items())
        for imbalance in compare(replica, Timelines.of(requests.filter(pc.field("replica") == replica)), [counters])
    ]


def compare(replica: str | None, timelines: Timelines, engines: Sequence[EngineCounters]) -> list[Imbalance]:
    """Return the totals that both sides know and do not agree on."""
    client: dict[Count, int | None] = {
        "requests_finished": len(timelines),
        "prompt_tokens": _sum(timelines.prompt_tokens),
        "generation_tokens": _sum(timelines.output_tokens),
    }
    return [
        Imbalance(replica, total, received, counted)
        for total, received in client.items()
        if received is not None and (counted := engine_total(engines, total)) is not None and counted != received
    ]


def _sum(per_request: Floats) -> int | None:
    return None if np.isnan(per_request).any() else int(per_request.sum())


def _counters(text: str) -> EngineCounters:
    """Read a scrape under the prefix that it carries; one with neither knows nothing."""
    first, *others = get_args(Prefix)
    return read_counters(text, next((prefix for prefix in others if prefix in text), first))

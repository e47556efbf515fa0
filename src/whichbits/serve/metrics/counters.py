"""The few counters that every engine has, of one engine core or of all behind a server, and how they grow."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from whichbits.serve.metrics.cache_config import CacheConfig
from whichbits.serve.metrics.exposition import Exposition, read_exposition
from whichbits.serve.metrics.names import ENGINES, NAMES, Count, Prefix, Quantity, State, Timed

CacheUnit = Literal["tokens", "blocks"]


@dataclass(frozen=True)
class EngineCounters:
    """What an engine counted since it started, summed over its labels; None where it does not say.

    ``prompt_tokens`` includes the cached ones. ``requests_finished`` are all that ended, ``requests_aborted`` those
    among them that were cut off. ``prefix_queries`` and ``prefix_hits`` count in ``cache_unit``. States:
    ``requests_running``, ``requests_waiting`` and ``kv_cache_usage`` (a share, 0 to 1, averaged over the engine
    cores of one server); the other counts only grow. ``created_s`` is the Unix time at which counting began.
    """

    prompt_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    generation_tokens: int | None = None
    requests_finished: int | None = None
    requests_running: int | None = None
    kv_cache_usage: float | None = None
    preemptions: int | None = None
    computed_prompt_tokens: int | None = None
    prefix_queries: int | None = None
    prefix_hits: int | None = None
    requests_aborted: int | None = None
    requests_waiting: int | None = None
    cache_unit: CacheUnit | None = None
    block_size: int | None = None
    kv_cache_tokens: int | None = None
    created_s: float | None = None

    @property
    def prefix_query_tokens(self) -> int | None:
        """Tokens looked up in the prefix cache; None if they are blocks of a size that nobody told."""
        return self._in_tokens(self.prefix_queries)

    @property
    def prefix_hit_tokens(self) -> int | None:
        """Tokens found in the prefix cache; None if they are blocks of a size that nobody told."""
        return self._in_tokens(self.prefix_hits)

    @property
    def hit_rate(self) -> float | None:
        """Hits / queries, in whatever unit both count; None without queries."""
        if self.prefix_hits is None or not self.prefix_queries:
            return None
        return self.prefix_hits / self.prefix_queries

    def _in_tokens(self, amount: int | None) -> int | None:
        if amount is None or self.cache_unit is None:
            return None
        if self.cache_unit == "tokens":
            return amount
        return None if self.block_size is None else amount * self.block_size


COUNTS: tuple[Count, ...] = (
    "prompt_tokens",
    "computed_prompt_tokens",
    "cached_prompt_tokens",
    "prefix_queries",
    "prefix_hits",
    "generation_tokens",
    "requests_finished",
    "requests_aborted",
    "preemptions",
)
"""The fields that only grow."""

_STATES: tuple[State, ...] = ("requests_running", "requests_waiting", "kv_cache_tokens")

_BIRTHS = ("generation_tokens_created", "prompt_tokens_created")


def _lines_of(quantities: Iterable[Quantity], ends: str) -> re.Pattern[str]:
    """Match how lines of these quantities begin, of any engine and age, their names followed by one of ``ends``."""
    stems = {name.stem for names in NAMES.values() for quantity in quantities for name in names.get(quantity, ())}
    spellings = f"(?:{'|'.join(map(re.escape, sorted(stems)))})(?:{ends})?|cache_config_info|{'|'.join(_BIRTHS)}"
    prefixes = "|".join(map(re.escape, ENGINES))
    return re.compile(rf"[ \t]*(?:\#\ ?HELP\ )?(?:{prefixes})(?:{spellings})[ \t{{]")


_COUNTED: tuple[Quantity, ...] = (*COUNTS, *_STATES, "kv_cache_usage")
_COUNTER_LINE = _lines_of(_COUNTED, "_total")
_READ_LINE = _lines_of((*_COUNTED, *get_args(Timed)), "_total|_bucket|_sum|_count")


def lines_read(text: str) -> str:
    """Return the lines of a scrape that counters and histograms of seconds are read of, in their order."""
    return "\n".join([line for line in text.split("\n") if _is_read(line.partition("{")[0])])


def lines_of_counters(text: str) -> str:
    """Return the lines of a scrape that ``counters_of`` reads, in their order: a tenth of what vLLM shows."""
    return "\n".join([line for line in text.split("\n") if _is_counter(line.partition("{")[0])])


@lru_cache(maxsize=8192)
def _is_counter(beginning: str) -> bool:
    """Tell it of what stands before a line's labels, or of all of a comment: the next scrape shows it again."""
    return _COUNTER_LINE.match(f"{beginning}{{") is not None


@lru_cache(maxsize=8192)
def _is_read(beginning: str) -> bool:
    return _READ_LINE.match(f"{beginning}{{") is not None


def read_counters(text: str, prefix: Prefix | None = None) -> EngineCounters:
    """Pick an engine's counters out of a scrape, summed over its engine cores.

    Without ``prefix``, the engine is told by its names. What is absent is None.
    """
    exposition = read_exposition(text, prefix)
    return EngineCounters() if exposition is None else counters_of(exposition)


def read_engines(text: str, prefix: Prefix | None = None) -> dict[str, EngineCounters]:
    """Pick the counters of each engine core (data-parallel rank) by its label; "" where there is one only."""
    exposition = read_exposition(text, prefix)
    return {} if exposition is None else engines_of(exposition)


def engines_of(exposition: Exposition, total: EngineCounters | None = None) -> dict[str, EngineCounters]:
    """Pick the counters of each engine core out of one engine's series; ``total`` is of all, if it is known already."""
    parts = {label: exposition.of_label(label) for label in exposition.labels}
    return {label: total if total and part is exposition else counters_of(part) for label, part in parts.items()}


def counters_of(exposition: Exposition) -> EngineCounters:
    """Pick the counters out of one engine's series."""
    numbers = {quantity: _whole(exposition.total(quantity)) for quantity in (*COUNTS, *_STATES)}
    unit = exposition.unit_of("prefix_hits", "prefix_queries")
    config = CacheConfig.of(exposition)
    counters = EngineCounters(
        **numbers,
        kv_cache_usage=exposition.mean("kv_cache_usage"),
        cache_unit="tokens" if unit == "tokens" else "blocks" if unit == "blocks" else None,
        block_size=config.block_size,
        created_s=_created(exposition),
    )
    if counters.kv_cache_tokens is None:
        counters = replace(counters, kv_cache_tokens=config.kv_cache_tokens or config.kv_cache_tokens_derived)
    if counters.cached_prompt_tokens is None:
        counters = replace(counters, cached_prompt_tokens=counters.prefix_hit_tokens)
    return counters


def restarted(before: EngineCounters, after: EngineCounters) -> bool:
    """Tell whether the engine began to count anew in between: its start differs, or a count fell."""
    if before.created_s is not None and after.created_s is not None:
        return before.created_s != after.created_s
    pairs = ((getattr(before, count), getattr(after, count)) for count in COUNTS)
    return any(first is not None and second is not None and second < first for first, second in pairs)


def difference(before: EngineCounters, after: EngineCounters) -> EngineCounters:
    """Return what was counted between two scrapes, and the states of the second.

    None where either scrape is silent, and everywhere if the engine was restarted in between: what it counted before
    that is lost.
    """
    lost = restarted(before, after)
    grown: dict[str, Any] = {
        count: None if lost else _growth(getattr(before, count), getattr(after, count)) for count in COUNTS
    }
    return replace(after, **grown)


def added(engines: Sequence[EngineCounters]) -> EngineCounters:
    """Add up engines, shares averaged; None where one of them does not say or their units differ."""
    if not engines:
        return EngineCounters()
    summed: dict[str, Any] = {
        count: _sum([getattr(engine, count) for engine in engines]) for count in (*COUNTS, *_STATES)
    }
    usages = [engine.kv_cache_usage for engine in engines if engine.kv_cache_usage is not None]
    same = {name: _same([getattr(engine, name) for engine in engines]) for name in ("cache_unit", "block_size")}
    if same["cache_unit"] is None or (same["cache_unit"] == "blocks" and same["block_size"] is None):
        summed |= {"prefix_queries": None, "prefix_hits": None}
    return EngineCounters(
        **summed,
        **same,
        kv_cache_usage=sum(usages) / len(usages) if len(usages) == len(engines) else None,
    )


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _same(values: Sequence[Any]) -> Any:
    return values[0] if len(set(values)) == 1 else None


def _created(exposition: Exposition) -> float | None:
    """Return when the token counters were made; servers with several front ends do not tell."""
    stamps = next(filter(None, (exposition.values(birth) for birth in _BIRTHS)), [])
    return min(stamps, default=None)

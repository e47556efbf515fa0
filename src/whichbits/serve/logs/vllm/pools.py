"""The pool of KV blocks: the least of its workers within one engine, the sum over data-parallel engines."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from whichbits.serve.logs.lines import LogLine
from whichbits.serve.logs.reading import FactSheet, Reading
from whichbits.serve.logs.vllm.crew import Crew

_AGREE = 0.01
_ROUNDING = 0.005
"""Concurrency is printed with two decimals."""


@dataclass
class Pool:
    """What one engine said of its pool, each with the line; tokens, requests, blocks."""

    tokens: list[tuple[int, LogLine]] = field(default_factory=list)
    concurrency: list[tuple[float, LogLine]] = field(default_factory=list)
    length: int | None = None
    gpu_blocks: list[tuple[int, LogLine]] = field(default_factory=list)
    cpu_blocks: list[tuple[int, LogLine]] = field(default_factory=list)

    def least_tokens(self) -> tuple[int, LogLine] | None:
        """Return the size that the engine uses."""
        return min(self.tokens, key=lambda said: said[0], default=None)

    def least_concurrency(self) -> tuple[float, LogLine] | None:
        """Return how many requests of full length fit."""
        return min(self.concurrency, key=lambda said: said[0], default=None)


def put_pool_facts(sheet: FactSheet, readings: Iterable[Reading], crew: Crew) -> tuple[str, ...]:
    """Put size, concurrency and blocks; return the codes of warnings."""
    pools: dict[int, Pool] = {}
    for reading in readings:
        _note(pools.setdefault(crew.engine_of(reading.line), Pool()), reading)
    if not pools:
        return ()
    if len(pools) > 1 or _more_engines(sheet, crew):
        _put_engines(sheet, pools, crew)
        return ()
    (pool,) = pools.values()
    return _put_one(sheet, pool)


def _note(pool: Pool, reading: Reading) -> None:
    if reading.name == "length":
        pool.length = reading.value
    else:
        getattr(pool, reading.name).append((reading.value, reading.line))


def _more_engines(sheet: FactSheet, crew: Crew) -> bool:
    declared = sheet.facts.get("data_parallel_size") or crew.sizes_seen().get("data_parallel_size_seen") or 1
    return bool(declared > 1)


def _put_one(sheet: FactSheet, pool: Pool) -> tuple[str, ...]:
    _put_blocks(sheet, pool)
    if fits := pool.least_concurrency():
        sheet.put("max_concurrency", *fits)
        sheet.put("max_concurrency_tokens", pool.length, fits[1])
    size = pool.least_tokens()
    if size is None:
        return ()
    effective = _effective_tokens(pool)
    if effective is not None and not _agree(size[0], pool):
        sheet.put("kv_cache_tokens_logged", *size)
        sheet.put("kv_cache_tokens_effective", effective)
        return ("kv_size_inconsistent_with_concurrency",)
    sheet.put("kv_cache_tokens", *size)
    return ()


def _put_blocks(sheet: FactSheet, pool: Pool) -> None:
    """Put blocks, and tokens = blocks x block size where the log tells the latter."""
    if pool.cpu_blocks:
        sheet.put("cpu_blocks", *pool.cpu_blocks[0])
    if not pool.gpu_blocks:
        return
    blocks, line = min(pool.gpu_blocks, key=lambda said: said[0])
    sheet.put("gpu_blocks", blocks, line)
    block_size = sheet.facts.get("block_size") or _block_size_of(pool, blocks)
    if isinstance(block_size, int):
        sheet.put("kv_cache_tokens_derived", blocks * block_size)


def _block_size_of(pool: Pool, blocks: int) -> int | None:
    """Return tokens / blocks if that is a power of two, as all block sizes of that age are."""
    tokens = _effective_tokens(pool)
    if not tokens or not blocks:
        return None
    ratio = tokens / blocks
    nearest = 2 ** round(math.log2(ratio)) if ratio >= 1 else 1
    return nearest if abs(ratio / nearest - 1) <= _tolerance(pool) else None


def _put_engines(sheet: FactSheet, pools: dict[int, Pool], crew: Crew) -> None:
    """Put what one engine has, and the sum if every engine has said its size."""
    sizes = {number: size for number, pool in pools.items() if (size := pool.least_tokens())}
    fits = [(said, pool) for pool in pools.values() if (said := pool.least_concurrency())]
    if fits:
        (concurrency, line), pool = min(fits, key=lambda found: found[0][0])
        sheet.put("max_concurrency_per_engine", concurrency, line)
        sheet.put("max_concurrency_tokens", pool.length, line)
    if not sizes:
        return
    sheet.put("engines_with_kv_line", sorted(sizes))
    sheet.put("kv_cache_tokens_per_engine", *min(sizes.values(), key=lambda said: said[0]))
    expected = sheet.facts.get("data_parallel_size") or len(crew.engines)
    if len(sizes) >= max(expected, len(crew.engines)):
        sheet.put("kv_cache_tokens", sum(tokens for tokens, _ in sizes.values()))


def _effective_tokens(pool: Pool) -> int | None:
    fits = pool.least_concurrency()
    return round(fits[0] * pool.length) if fits and pool.length else None


def _agree(tokens: int, pool: Pool) -> bool:
    effective = _effective_tokens(pool)
    return not effective or abs(tokens / effective - 1) <= _tolerance(pool)


def _tolerance(pool: Pool) -> float:
    fits = pool.least_concurrency()
    return _AGREE + (_ROUNDING / fits[0] if fits and fits[0] else 0)


def scheduler_is_the_limit(sheet: FactSheet) -> bool:
    """Return whether max_num_seqs lets fewer requests run than the pool holds at full length."""
    sequences, held = sheet.facts.get("max_num_seqs"), sheet.facts.get("max_concurrency")
    return sequences is not None and held is not None and bool(sequences < held)

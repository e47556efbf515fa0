"""The KV cache as an info metric tells it: its settings are labels, all of them strings."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from whichbits.serve.metrics.exposition import Exposition

_INFLATED_BLOCK = 256
"""Hybrid models report a block size of hundreds of tokens, with which blocks x size is not the pool."""


@dataclass(frozen=True)
class CacheConfig:
    """The pools of all engine cores together; None where one does not say, or where settings differ.

    ``kv_cache_tokens`` is told (vLLM from 0.32 on), ``kv_cache_tokens_derived`` is blocks x block size where it is
    not.
    """

    block_size: int | None
    num_gpu_blocks: int | None
    kv_cache_tokens: int | None
    kv_cache_tokens_derived: int | None
    max_concurrency: float | None
    gpu_memory_utilization: float | None
    enable_prefix_caching: bool | None

    @classmethod
    def of(cls, exposition: Exposition) -> Self:
        """Read ``cache_config_info``."""
        engines = exposition.infos("cache_config_info")
        block_size = _agreed(_integer(labels.get("block_size")) for labels in engines)
        blocks = _sum([_integer(labels.get("num_gpu_blocks")) for labels in engines])
        tokens = _sum([_integer(labels.get("kv_cache_size_tokens")) for labels in engines])
        derivable = not tokens and blocks and block_size and block_size <= _INFLATED_BLOCK
        return cls(
            block_size=block_size,
            num_gpu_blocks=blocks,
            kv_cache_tokens=tokens,
            kv_cache_tokens_derived=blocks * block_size if derivable else None,
            max_concurrency=_sum([_decimal(labels.get("kv_cache_max_concurrency")) for labels in engines]),
            gpu_memory_utilization=_agreed(_decimal(labels.get("gpu_memory_utilization")) for labels in engines),
            enable_prefix_caching=_agreed(_truth(labels.get("enable_prefix_caching")) for labels in engines),
        )


def _integer(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,18}", text, re.ASCII) else None


def _decimal(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII) else None


def _truth(text: str | None) -> bool | None:
    return {"True": True, "False": False}.get(text or "")


def _sum(values: Sequence[Any]) -> Any:
    """Sum over engines, if all of them say it."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _agreed(values: Iterable[Any]) -> Any:
    """Return what all engines say alike."""
    different = list(dict.fromkeys(values))
    return different[0] if len(different) == 1 else None

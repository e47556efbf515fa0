"""Figures of single workers: kept apart by rank, and one figure for all only where they agree."""

from collections.abc import Iterable, Mapping
from typing import Any

from whichbits.serve.logs.reading import FactSheet, Reading
from whichbits.serve.logs.vllm.crew import Crew, WorkerKey

_AGREE = 0.001
_POOL = "kv_cache_memory_gib"
_ALSO_PER_GPU = ("model_memory_gib", _POOL)
_PROFILING = "memory_profiling_seconds"

Figures = Mapping[WorkerKey, Reading]


def put_worker_facts(sheet: FactSheet, readings: Iterable[Reading], crew: Crew) -> None:
    """Put each figure once: as it is if all workers that say it agree, else its minimum and maximum.

    Of a time that several took, the maximum is always there: the engine waits for the slowest.

    A worker that says a figure twice means the second one (the first is a trial); of a time it means the longer
    one (the other is a drafter's). The same line that arrives by two ways is one. ``ranks`` holds the figures of
    each rank.
    """
    for name, figures in _by_name(readings, crew).items():
        _put_figure(sheet, name, figures, named=any(crew.label_of(key) is not None for key in figures))
        _put_rank_figures(sheet, name, figures, crew)
    _put_total(sheet, crew)


def _by_name(readings: Iterable[Reading], crew: Crew) -> dict[str, dict[WorkerKey, Reading]]:
    figures: dict[str, dict[WorkerKey, Reading]] = {}
    for reading in readings:
        said, worker = figures.setdefault(reading.name, {}), crew.worker_of(reading.line)
        before = said.get(worker)
        if before is None or not reading.name.endswith("_seconds") or reading.value > before.value:
            said[worker] = reading
    return figures


def _put_figure(sheet: FactSheet, name: str, figures: Figures, *, named: bool) -> None:
    """``_per_gpu`` is the figure that binds: the least of the pools, the most of the weights."""
    ordered = sorted(figures.values(), key=lambda reading: reading.value)
    least, most = ordered[0], ordered[-1]
    agree = most.value - least.value <= _AGREE * abs(most.value)
    if agree:
        sheet.put(name, least.value, least.line)
    else:
        sheet.put(f"{name}_min", least.value, least.line)
    if not agree or name == _PROFILING or (len(ordered) > 1 and name.endswith("_seconds")):
        sheet.put(f"{name}_max", most.value, most.line)
    if name in _ALSO_PER_GPU and (named or len(ordered) > 1):
        binding = least if name == _POOL else most
        sheet.put(f"{name}_per_gpu", binding.value, binding.line)


def _put_rank_figures(sheet: FactSheet, name: str, figures: Figures, crew: Crew) -> None:
    for key, reading in figures.items():
        if (label := crew.label_of(key)) is not None:
            ranks: dict[str, dict[str, Any]] = sheet.facts.setdefault("ranks", {})
            ranks.setdefault(str(label), {})[name] = reading.value


def _put_total(sheet: FactSheet, crew: Crew) -> None:
    """Add the weights of all ranks up, if all of the grid have said theirs."""
    ranks: dict[str, dict[str, Any]] = sheet.facts.get("ranks", {})
    said = [figures["model_memory_gib"] for figures in ranks.values() if "model_memory_gib" in figures]
    size = 1
    for dimension, seen in crew.sizes_seen().items():
        size *= sheet.facts.get(dimension.removesuffix("_seen")) or seen
    if len(said) == size and size > 1:
        sheet.put("model_memory_gib_total", round(sum(said), 4))

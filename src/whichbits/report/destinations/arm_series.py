"""A run as experiments see it: a series of numbers over load for each arm, and what the arm is."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from whichbits.analyze.summary import ArmSummary, CellSummary, Distribution, Summary

_NAMES_OF_THE_CELL = ("cell", "concurrency", "request_rate", "repeat", "block")
_STATISTICS = ("mean", "p50", "p90", "p99")


@dataclass(frozen=True)
class Point:
    """One cell: ``step`` is its load, or the load's rank from 1 where some load is no whole number."""

    step: int
    numbers: dict[str, float]


@dataclass(frozen=True)
class ArmSeries:
    """One arm: its facts, and its finished cells in the order of load and repeat."""

    arm: str
    facts: dict[str, str]
    points: tuple[Point, ...]


def arm_series(summary: Summary) -> Iterator[ArmSeries]:
    """Yield each arm that has a finished cell."""
    done = [cell for cell in summary.cells if cell.state == "done"]
    steps = _steps({load for cell in done if (load := _load(summary, cell)) is not None})
    for name, arm in summary.arms.items():
        cells = sorted(
            (cell for cell in done if cell.arm == name), key=lambda cell: (_load(summary, cell) or 0.0, cell.repeat)
        )
        if cells:
            yield ArmSeries(name, _facts(summary, arm), tuple(_point(summary, cell, steps) for cell in cells))


def numbers(cell: CellSummary) -> dict[str, float]:
    """Return every known number of a cell by its address, such as ``ttft_ms.p99``."""
    found: dict[str, float] = {}
    for field in fields(cell):
        value = getattr(cell, field.name)
        if isinstance(value, Distribution):
            known = ((each, getattr(value, each)) for each in _STATISTICS)
            found |= {f"{field.name}.{each}": number for each, number in known if number is not None}
        elif isinstance(value, int | float) and not isinstance(value, bool) and field.name not in _NAMES_OF_THE_CELL:
            found[field.name] = float(value)
    return found


def _point(summary: Summary, cell: CellSummary, steps: dict[float, int]) -> Point:
    load = _load(summary, cell)
    told = {} if load is None else {"load": load}
    return Point(0 if load is None else steps[load], told | {"repeat": float(cell.repeat)} | numbers(cell))


def _steps(loads: set[float]) -> dict[float, int]:
    if all(load == int(load) for load in loads):
        return {load: int(load) for load in loads}
    return {load: rank for rank, load in enumerate(sorted(loads), start=1)}


def _load(summary: Summary, cell: CellSummary) -> float | None:
    load = getattr(cell, summary.load_unit)
    return None if load is None else float(load)


def _facts(summary: Summary, arm: ArmSummary) -> dict[str, str]:
    told = {
        "source": summary.source,
        "study": summary.study,
        "load_unit": summary.load_unit,
        "arm": arm.arm,
        "weight_format": arm.weight_format,
        "engine": arm.engine,
        "engine_version": arm.engine_version,
        "model": arm.model,
        "kernel": arm.kernel,
        "weights_gib": arm.weights_gib,
        "kv_cache_tokens": arm.kv_cache_tokens,
    }
    return {name: str(value) for name, value in told.items() if value is not None}

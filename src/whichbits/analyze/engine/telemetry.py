"""What an arm's GPUs did during a cell: power, clocks and what held them down."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichbits.record.schema import Cell

THROTTLE_REASONS: Mapping[int, str] = {
    0x4: "power_cap",
    0x8: "hardware_slowdown",
    0x20: "thermal_software",
    0x40: "thermal_hardware",
    0x80: "power_brake",
}
"""Bits that hold clocks down against the work's wish (nvml.h, nvmlClocksThrottleReason); idle and set clocks do not."""


@dataclass(frozen=True)
class GpuTelemetry:
    """Samples of a cell over all of the arm's GPUs; None where the driver does not say.

    Power and energy are of all GPUs together, clocks and utilisation means over them, temperature and memory the
    highest of one. ``throttled_s`` are seconds by cause, ``throttled_share`` the share of samples with any cause.
    """

    gpus: int
    samples: int
    mean_power_w: float | None
    max_power_w: float | None
    power_limit_w: float | None
    energy_j: float | None
    mean_sm_clock_mhz: float | None
    sm_clock_share: float | None
    """Mean clock over the highest that the device has."""
    mean_memory_clock_mhz: float | None
    max_temperature_c: float | None
    max_memory_used_bytes: int | None
    mean_utilisation: float | None
    throttled_s: dict[str, float]
    throttled_share: float | None


def gpu_telemetry(table: pa.Table, cell: Cell) -> GpuTelemetry | None:
    """Return what the samples within ``cell`` say; None if there are none."""
    rows = _within(table, cell)
    if not len(rows):
        return None
    gpus = len(pc.unique(rows["gpu"]))
    samples = len(rows) // gpus
    clock, clock_max = _mean(rows, "sm_clock_mhz"), _mean(rows, "sm_clock_max_mhz")
    seconds = _seconds(cell)
    reasons = _reasons(rows)
    memory = pc.max(rows["memory_used_bytes"]).as_py()
    return GpuTelemetry(
        gpus=gpus,
        samples=samples,
        mean_power_w=_times(_mean(rows, "power_w"), gpus),
        max_power_w=_highest_sum(rows, "power_w", gpus),
        power_limit_w=_times(_mean(rows, "power_limit_w"), gpus),
        energy_j=_energy(rows, seconds),
        mean_sm_clock_mhz=clock,
        sm_clock_share=None if clock is None or not clock_max else clock / clock_max,
        mean_memory_clock_mhz=_mean(rows, "memory_clock_mhz"),
        max_temperature_c=pc.max(rows["temperature_c"]).as_py(),
        max_memory_used_bytes=memory,
        mean_utilisation=_mean(rows, "utilisation"),
        throttled_s={} if reasons is None else _by_cause(reasons, seconds),
        throttled_share=None if reasons is None else float((reasons & _any_reason() != 0).mean()),
    )


def _within(table: pa.Table, cell: Cell) -> pa.Table:
    # Most runs have no samples, and to filter loads a part of Arrow that takes longer than all cells together.
    if cell.started_ns is None or cell.finished_ns is None or not len(table):
        return table.slice(0, 0)
    time = pc.field("time_ns")
    return table.filter((pc.field("cell") == cell.cell) & (time >= cell.started_ns) & (time <= cell.finished_ns))


def _seconds(cell: Cell) -> float:
    return ((cell.finished_ns or 0) - (cell.started_ns or 0)) / 1e9


def _mean(rows: pa.Table, column: str) -> float | None:
    value: float | None = pc.mean(rows[column]).as_py()
    return value


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _highest_sum(rows: pa.Table, column: str, gpus: int) -> float | None:
    """Return the highest sum over the GPUs at one beat: the n-th samples of all belong together."""
    each = [np.asarray(rows.filter(pc.field("gpu") == gpu)[column].drop_null()) for gpu in pc.unique(rows["gpu"])]
    beats = min(len(values) for values in each)
    return float(np.sum([values[:beats] for values in each], axis=0).max()) if beats and len(each) == gpus else None


def _energy(rows: pa.Table, seconds: float) -> float | None:
    """Return the joules of all GPUs in the cell: what their counters grew by, at the samples' pace."""
    total = 0.0
    for gpu in pc.unique(rows["gpu"]):
        own = rows.filter((pc.field("gpu") == gpu) & pc.field("energy_j").is_valid()).sort_by("time_ns")
        if len(own) < 2:
            return None
        joules, times = np.asarray(own["energy_j"]), np.asarray(own["time_ns"])
        total += float(joules[-1] - joules[0]) / float(times[-1] - times[0]) * 1e9 * seconds
    return total


def _reasons(rows: pa.Table) -> "np.ndarray[Any, np.dtype[np.int64]] | None":
    known = rows["throttle_reasons"].drop_null()
    return np.asarray(known, dtype=np.int64) if len(known) else None


def _by_cause(reasons: "np.ndarray[Any, np.dtype[np.int64]]", seconds: float) -> dict[str, float]:
    shares = {cause: float((reasons & bit != 0).mean()) for bit, cause in THROTTLE_REASONS.items()}
    return {cause: share * seconds for cause, share in shares.items() if share}


def _any_reason() -> int:
    return sum(THROTTLE_REASONS)

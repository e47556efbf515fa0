"""What GPUs did in a cell, by hand; and when that is a finding."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tests.analyze.make_cell import summary
from tests.record.make_run import manifest
from whichbits.analyze.engine.telemetry import GpuTelemetry, gpu_telemetry
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.findings.throttling import throttled_gpus
from whichbits.record.schema import Cell
from whichbits.record.telemetry import SCHEMA

SECOND = 10**9
CELL = Cell(3, "bf16", 64, None, 0, "done", started_ns=10 * SECOND, finished_ns=20 * SECOND)
POWER_CAP, HEAT, IDLE, SET = 0x4, 0x20, 0x1, 0x2


def sample(second: float, gpu: int = 0, cell: int = 3, **values: Any) -> dict[str, Any]:
    plain = {"uuid": f"GPU-{gpu}", "power_w": 60.0, "power_limit_w": 72.0, "energy_j": 100.0 + 60 * second}
    clocks = {"sm_clock_mhz": 1530, "sm_clock_max_mhz": 2040, "memory_clock_mhz": 6251, "throttle_reasons": 0}
    return {"cell": cell, "time_ns": int(second * SECOND), "gpu": gpu, **plain, **clocks, **values}


def read(*samples: dict[str, Any]) -> GpuTelemetry:
    found = gpu_telemetry(pa.Table.from_pylist(list(samples), schema=SCHEMA), CELL)
    assert found is not None
    return found


def test_only_samples_within_the_cell_count() -> None:
    """A ramp before the traffic, a tail behind it, and another try at another cell."""
    found = read(
        sample(9, power_w=10.0), sample(12, power_w=50.0), sample(18, power_w=70.0), sample(21), sample(15, cell=4)
    )

    assert (found.gpus, found.samples) == (1, 2)
    assert (found.mean_power_w, found.max_power_w, found.power_limit_w) == (60.0, 70.0, 72.0)
    assert found.sm_clock_share == 0.75
    assert found.energy_j == pytest.approx(600)  # 60 W, by the counter, for the whole 10 s


def test_power_is_of_all_gpus_together_and_peaks_at_one_moment() -> None:
    """100 + 50 W, then 40 + 90 W: never the 190 W of two peaks."""
    found = read(
        sample(11, power_w=100.0), sample(11, 1, power_w=50.0), sample(12, power_w=40.0), sample(12, 1, power_w=90.0)
    )

    assert (found.gpus, found.samples) == (2, 2)
    assert found.mean_power_w == 140.0
    assert found.max_power_w == 150.0
    assert found.energy_j == pytest.approx(1200)


def test_seconds_are_counted_by_cause_and_idling_is_none() -> None:
    reasons = [POWER_CAP, POWER_CAP | HEAT, IDLE, SET]
    found = read(*(sample(11 + place, throttle_reasons=bits) for place, bits in enumerate(reasons)))

    assert found.throttled_s == {"power_cap": 5.0, "thermal_software": 2.5}
    assert found.throttled_share == 0.5


def test_what_the_driver_does_not_tell_is_none() -> None:
    silent: dict[str, Any] = dict.fromkeys(
        ("power_w", "energy_j", "sm_clock_mhz", "throttle_reasons", "memory_used_bytes")
    )
    found = read(sample(11, **silent), sample(12, **silent))

    assert (found.mean_power_w, found.max_power_w, found.energy_j, found.sm_clock_share) == (None, None, None, None)
    assert (found.throttled_s, found.throttled_share, found.max_memory_used_bytes) == ({}, None, None)


def test_a_cell_without_samples_has_none() -> None:
    assert gpu_telemetry(SCHEMA.empty_table(), CELL) is None
    assert gpu_telemetry(pa.Table.from_pylist([sample(12)], schema=SCHEMA), replace(CELL, started_ns=None)) is None


def observed(*gpus: GpuTelemetry | None) -> Observed:
    cells = [replace(summary("bf16", 2**place, 10.0), cell=place, gpu=gpu) for place, gpu in enumerate(gpus)]
    return Observed(manifest(), cells)


def test_cells_at_the_power_limit_are_named_with_their_evidence() -> None:
    free = read(sample(11), sample(12))
    held = read(sample(11, throttle_reasons=POWER_CAP), sample(12, throttle_reasons=POWER_CAP))
    (found,) = throttled_gpus(observed(free, held, None))

    assert (found.kind, found.code) == ("observed", "gpu_throttled")
    assert "bf16: the power limit held the GPU's clocks down in 1 cell, most at c2: 100% of the time" in found.text
    assert "75% of the highest" in found.text
    assert found.evidence == ("cell 1", "cell 1: power_cap 10.0 s, mean power 60 W of 72 W")


def test_a_single_beat_of_many_or_no_data_is_no_finding() -> None:
    beats = [sample(11 + place / 10, throttle_reasons=POWER_CAP if place == 0 else 0) for place in range(40)]

    assert list(throttled_gpus(observed(read(*beats)))) == []
    assert list(throttled_gpus(observed(None))) == []
    assert list(throttled_gpus(observed(read(sample(11, throttle_reasons=None))))) == []

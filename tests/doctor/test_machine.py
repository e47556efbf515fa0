"""What a machine and its container leave a study."""

import os
from typing import NamedTuple

import psutil
import pytest

from whichbits.doctor.machine import busy_now, disk, memory, processors, shared_memory
from whichbits.hardware.container import ContainerLimits
from whichbits.study.model import Study

GIB = 2**30


class Usage(NamedTuple):
    total: int
    used: int
    free: int


class Memory(NamedTuple):
    total: int
    available: int


def study(**arm: int) -> Study:
    return Study.model_validate(
        {
            "name": "wide",
            "arms": {"a": {"weight_format": "fp16", "model": "m", **arm}},
            "traffic": {"kind": "chat"},
            "loads": [1],
        }
    )


@pytest.mark.parametrize(("free", "state"), [(9.0, "good"), (3.0, "note"), (0.5, "problem")])
def test_disk_where_runs_are_written(monkeypatch: pytest.MonkeyPatch, free: float, state: str) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, int(free * GIB)))
    assert disk(study()).state == state


@pytest.mark.parametrize(
    ("mib", "arm", "state"), [(8192, {}, "good"), (64, {}, "note"), (64, {"tensor_parallel_size": 2}, "problem")]
)
def test_shared_memory_of_a_container(
    monkeypatch: pytest.MonkeyPatch, mib: int, arm: dict[str, int], state: str
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(mib * 2**20, 0, 0))
    assert [each.state for each in shared_memory(study(**arm))] == [state]


def test_memory_of_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(64 * GIB, 60 * GIB))
    assert memory(ContainerLimits()).found == "60 of 64 GiB available"
    limited = memory(ContainerLimits(memory=8 * GIB, memory_used=GIB))
    assert (limited.code, limited.found) == ("memory_limited", "the container may use 8.0 of 64 GiB, and uses 1.0")
    assert memory(ContainerLimits(memory=8 * GIB)).found.endswith("and uses \N{EN DASH}")


def test_processors_of_a_container_and_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 0.0, 0.0))
    assert processors(ContainerLimits()).state == "good"
    assert processors(ContainerLimits(processors=1.5)).code == "processors_few"
    monkeypatch.setattr(os, "getloadavg", lambda: (12.0, 0.0, 0.0))
    assert processors(ContainerLimits()).code == "processors_busy"


@pytest.mark.parametrize(
    ("percent", "processors_", "usable", "said"),
    [(85.0, 2, 2, True), (10.0, 2, 2, False), (25.0, 64, 4, False), (98.0, 64, 4, True)],
    ids=["small and busy", "small and quiet", "large and busy elsewhere", "large and full"],
)
def test_neighbours_count_by_what_they_leave_free(
    monkeypatch: pytest.MonkeyPatch,
    percent: float,
    processors_: int,
    usable: int,
    said: bool,
) -> None:
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: percent)
    monkeypatch.setattr(psutil, "cpu_count", lambda: processors_)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(usable)))

    assert [each.code for each in busy_now()] == (["processors_busy"] if said else [])

"""Limits of a machine and of a container."""

from pathlib import Path

from whichbits.doctor.machine import cgroup_number, cpu_quota, open_files
from whichbits.study.model import Study


def study(streams: int) -> Study:
    return Study.model_validate(
        {
            "name": "wide",
            "arms": {"a": {"weight_format": "fp16", "model": "m"}},
            "traffic": {"kind": "chat"},
            "loads": [streams],
        }
    )


def test_open_files_are_held_against_the_highest_load() -> None:
    assert open_files(4096, study(16)).state == "good"
    assert open_files(1024, study(16)).state == "note"
    assert open_files(1024, study(1000)).state == "problem"
    assert open_files(100_000, study(10_000)).state == "good"
    assert open_files(-1, study(10_000)).found == "limit none"


def test_limits_of_a_container(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("8589934592\n")
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert cgroup_number("memory.max", tmp_path) == 8 * 2**30
    assert cpu_quota(tmp_path) == 1.5


def test_a_container_without_limits(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert cgroup_number("memory.max", tmp_path) is None
    assert cpu_quota(tmp_path) is None
    assert cpu_quota(tmp_path / "nowhere") is None

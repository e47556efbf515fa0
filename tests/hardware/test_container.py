"""Limits of control groups, of both versions, on the way from this process up."""

from pathlib import Path

import pytest

from whichbits.hardware.container import ContainerLimits, container_limits

NOTHING = ContainerLimits()
NO_LIMIT_V1 = "9223372036854771712\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def second(tmp_path: Path, group: str, files: dict[str, str]) -> ContainerLimits:
    (tmp_path / "self").write_text(f"0::{group}\n")
    mount = tree(tmp_path / "mount", {"cgroup.controllers": "cpu memory pids\n", **files})
    return container_limits(mount, tmp_path / "self")


def first(tmp_path: Path, membership: str, files: dict[str, str]) -> ContainerLimits:
    (tmp_path / "self").write_text(membership)
    return container_limits(tree(tmp_path / "mount", files), tmp_path / "self")


def test_a_container_that_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    found = second(
        tmp_path,
        "/",
        {
            "memory.max": "8589934592\n",
            "memory.current": "1073741824\n",
            "cpu.max": "150000 100000\n",
            "pids.max": "2048\n",
        },
    )
    assert found == ContainerLimits(8 * 2**30, 2**30, 1.5, 2048)


def test_the_tightest_of_a_pods_groups_counts(tmp_path: Path) -> None:
    found = second(
        tmp_path,
        "/kubepods/pod1/box",
        {
            "kubepods/pod1/memory.max": "4294967296",
            "kubepods/pod1/memory.current": "7",
            "kubepods/pod1/box/memory.max": "max",
            "kubepods/pod1/box/memory.current": "5",
            "kubepods/pod1/box/cpu.max": "400000 100000",
            "kubepods/cpu.max": "200000 100000",
        },
    )
    assert found == ContainerLimits(4 * 2**30, 7, 2.0, None)


def test_no_limits(tmp_path: Path) -> None:
    assert second(tmp_path, "/", {"memory.max": "max\n", "cpu.max": "max 100000\n", "pids.max": "max\n"}) == NOTHING
    assert container_limits(tmp_path / "nowhere", tmp_path / "no-such-file") == NOTHING


def test_version_1_with_a_group_that_the_container_does_not_see(tmp_path: Path) -> None:
    found = first(
        tmp_path,
        "9:pids:/docker/abc\n4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/\n",
        {
            "memory/memory.limit_in_bytes": "2147483648\n",
            "memory/memory.usage_in_bytes": "1048576\n",
            "cpu/cpu.cfs_quota_us": "50000\n",
            "cpu/cpu.cfs_period_us": "100000\n",
            "pids/pids.max": "100\n",
        },
    )
    assert found == ContainerLimits(2 * 2**30, 2**20, 0.5, 100)


def test_version_1_without_limits(tmp_path: Path) -> None:
    found = first(
        tmp_path,
        "4:memory:/\n1:cpu:/\n",
        {
            "memory/memory.limit_in_bytes": NO_LIMIT_V1,
            "cpu/cpu.cfs_quota_us": "-1\n",
            "cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert found == NOTHING


JUNK = ["", "\n", "x", "-7", "²", "9" * 5000, "1e3", "\udcff", "0 0", "100000 0", "a b c"]


@pytest.mark.parametrize("junk", JUNK, ids=ascii)
def test_files_that_say_nonsense_limit_nothing(tmp_path: Path, junk: str) -> None:
    (tmp_path / "group").mkdir()
    membership = tmp_path / "membership"
    membership.write_bytes(f"{junk}\n0::/group\n{junk}:x\n".encode(errors="surrogateescape"))
    for name in ("memory.max", "memory.current", "cpu.max", "pids.max"):
        (tmp_path / "group" / name).write_bytes(junk.encode(errors="surrogateescape"))

    assert container_limits(tmp_path, membership) == NOTHING
    (tmp_path / "cgroup.controllers").touch()
    assert container_limits(tmp_path, membership) == NOTHING

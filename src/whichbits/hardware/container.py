"""What the control groups of a container or a session leave this process: memory, processors, processes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Limit = TypeVar("Limit", int, float)

_MOUNT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_NO_LIMIT = 2**60
"""Version 1 writes "no limit" as the largest multiple of a page; no machine has as much."""

_MOST_DIGITS = 20


@dataclass(frozen=True)
class ContainerLimits:
    """Bytes, processors (1.5 is one and a half) and processes; None where nothing limits."""

    memory: int | None = None
    memory_used: int | None = None
    processors: float | None = None
    processes: int | None = None


def container_limits(mount: Path = _MOUNT, membership: Path = _MEMBERSHIP) -> ContainerLimits:
    """Return the tightest limits on the way from this process's own group up to the root, of either version.

    https://docs.kernel.org/admin-guide/cgroup-v2.html and https://docs.kernel.org/admin-guide/cgroup-v1/.
    """
    groups = dict(_memberships(membership))
    if (mount / "cgroup.controllers").exists():
        return _second(list(_upwards(mount, groups.get("", "/"))))
    return _first(lambda controller: list(_upwards(mount / controller, groups.get(controller, "/"))))


def _memberships(membership: Path) -> Iterator[tuple[str, str]]:
    """Yield the group of each controller; version 2 has one for all, under an empty name."""
    for line in _text(membership).splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        for controller in controllers.split(",") if group else ():
            yield controller, group


def _upwards(mount: Path, group: str) -> Iterator[Path]:
    """Yield the group's folder and those above it; in a container the mount may already be the group itself."""
    folder = mount / group.lstrip("/")
    while folder != mount and mount in folder.parents:
        if folder.is_dir():
            yield folder
        folder = folder.parent
    yield mount


def _second(folders: list[Path]) -> ContainerLimits:
    memory = _tightest(folders, lambda folder: _number(folder / "memory.max"))
    limiting = next((folder for folder in folders if memory and _number(folder / "memory.max") == memory), None)
    return ContainerLimits(
        memory=memory,
        memory_used=None if limiting is None else _number(limiting / "memory.current"),
        processors=_tightest(folders, lambda folder: _share(*_text(folder / "cpu.max").split()[:2])),
        processes=_tightest(folders, lambda folder: _number(folder / "pids.max")),
    )


def _first(folders: Callable[[str], list[Path]]) -> ContainerLimits:
    own = folders("memory")
    memory = _tightest(own, lambda folder: _number(folder / "memory.limit_in_bytes"))
    processors = _tightest(
        folders("cpu"),
        lambda folder: _share(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")),
    )
    return ContainerLimits(
        memory=memory,
        memory_used=_number(own[0] / "memory.usage_in_bytes") if memory is not None else None,
        processors=processors,
        processes=_tightest(folders("pids"), lambda folder: _number(folder / "pids.max")),
    )


def _tightest(folders: list[Path], limit: Callable[[Path], Limit | None]) -> Limit | None:
    return min((found for folder in folders if (found := limit(folder)) is not None), default=None)


def _share(quota: str = "", period: str = "") -> float | None:
    """Return quota / period; "max" and -1 are no quota."""
    whole, part = _whole(period), _whole(quota)
    return part / whole if whole and part is not None else None


def _number(file: Path) -> int | None:
    found = _whole(_text(file))
    return found if found is not None and found < _NO_LIMIT else None


def _whole(text: str) -> int | None:
    """Return a count; None for words, and for what only a broken file would say."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

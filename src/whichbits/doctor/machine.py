"""What the machine and its container leave a study: files, memory, disk, processors."""

import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil

from whichbits.doctor.diagnosis import Diagnosis, Patient, good
from whichbits.study.model import Study

_GIB = 2**30
_FILES_PER_STREAM = 2
_LEAST_FILES = 4096
_LEAST_DISK_GIB = 5.0
_LEAST_SHARED_GIB = 1.0
_BUSY = 0.25
"""A quarter of the processors busy before anything runs shows in the gaps between tokens."""


def check_machine(patient: Patient) -> Iterator[Diagnosis]:
    """Look at limits of the process, the container and the machine."""
    yield open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[1], patient.study)
    yield disk(patient.study)
    yield from shared_memory(patient.study)
    yield memory()
    yield processors()


def open_files(hard: int, study: Study | None) -> Diagnosis:
    """Hold the limit of open files against the study's highest load; ours is raised to the hard one by itself."""
    loads = () if study is None else study.fixed_loads
    streams = max((load.concurrency or 0 for load in loads), default=0)
    needed = max(_LEAST_FILES, _FILES_PER_STREAM * streams)
    if hard == resource.RLIM_INFINITY or hard >= needed:
        return good("open_files", "open files", f"limit {'none' if hard == resource.RLIM_INFINITY else hard}")
    return Diagnosis(
        "open_files",
        "problem" if hard < streams + 100 else "note",
        "open files",
        f"the hard limit is {hard}, and {needed} are wanted",
        why="each stream is a socket, in the client and in the server",
        fix="raise it: ulimit -Hn, LimitNOFILE= of a unit, or --ulimit nofile of a container",
    )


def disk(study: Study | None) -> Diagnosis:
    """Look at the room where runs are written."""
    folder = Path("." if study is None else study.output).absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / _GIB
    if free >= _LEAST_DISK_GIB:
        return good("disk", str(folder), f"{free:.0f} GiB free")
    return Diagnosis(
        "disk_low",
        "note" if free > 1 else "problem",
        str(folder),
        f"{free:.1f} GiB free",
        why="logs, scrapes and profiles of a long study take GBs",
        fix="make room, or name another folder as the study's `output`",
    )


def shared_memory(study: Study | None) -> Iterator[Diagnosis]:
    """Look at /dev/shm, which several GPUs of one server talk through."""
    place = Path("/dev/shm")  # noqa: S108 - it is examined, not written to
    if not place.is_dir():
        return
    size = shutil.disk_usage(place).total / _GIB
    parallel = study is not None and any((arm.tensor_parallel_size or 1) > 1 for arm in study.arms.values())
    if size >= _LEAST_SHARED_GIB:
        yield good("shared_memory", str(place), f"{size:.1f} GiB")
    else:
        yield Diagnosis(
            "shared_memory_small",
            "problem" if parallel else "note",
            str(place),
            f"{size * 1024:.0f} MiB",
            why="containers get 64 MiB unless told, and NCCL and vLLM's workers share tensors there",
            fix="start the container with --ipc=host or --shm-size=8g; in Kubernetes mount an emptyDir in memory",
        )


def memory() -> Diagnosis:
    """Say what memory is left, by the container's limit where there is one."""
    machine = psutil.virtual_memory()
    limit = cgroup_number("memory.max")
    if limit is None or limit >= machine.total:
        return good("memory", "memory", f"{machine.available / _GIB:.0f} of {machine.total / _GIB:.0f} GiB available")
    used = cgroup_number("memory.current") or 0
    return Diagnosis(
        "memory_limited",
        "note",
        "memory",
        f"the container may use {limit / _GIB:.1f} GiB and uses {used / _GIB:.1f}",
        why="weights pass through this memory on their way to a GPU, and a process beyond the limit is killed unasked",
        fix="allow at least the largest shard of the checkpoint and some GiB more",
    )


def processors() -> Diagnosis:
    """Say how many processors there are, and whether others use them."""
    allowed = len(os.sched_getaffinity(0))
    quota = cpu_quota()
    usable = min(allowed, quota) if quota is not None else allowed
    busy = os.getloadavg()[0] / allowed
    if busy > _BUSY:
        return Diagnosis(
            "processors_busy",
            "note",
            "processors",
            f"{usable:g} usable, and {busy:.0%} of them were busy over the last minute",
            why="the client, the server's front end and the neighbours share them; times then tell of the neighbours",
            fix="wait, or end what else runs; the client's verdict says afterwards whether it mattered",
        )
    if usable < 4:
        return Diagnosis(
            "processors_few",
            "note",
            "processors",
            f"{usable:g} usable",
            why="a server's front end alone fills one at some thousand tokens a second, and the client needs another",
            fix="give the container more, or keep loads low",
        )
    return good("processors", "processors", f"{usable:g} usable, {busy:.0%} busy")


def cgroup_number(name: str, folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return a limit of the container (cgroup v2); None where there is none."""
    try:
        return int((folder / name).read_text())
    except (OSError, ValueError):
        return None


def cpu_quota(folder: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return the processors that the container's quota amounts to; None without a quota."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None

"""What the machine and its container leave a study: memory, disk, processors."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil

from whichbits.doctor.diagnosis import Diagnosis, Patient, good
from whichbits.hardware.container import ContainerLimits, container_limits
from whichbits.study.model import Study

_GIB = 2**30
_LEAST_DISK_GIB = 5.0
_LEAST_SHARED_GIB = 1.0
_FEW = 4
_MOMENT_S = 0.2
_BUSY = 0.25
"""A quarter of the processors busy before anything runs shows in the gaps between tokens."""


def check_machine(patient: Patient) -> Iterator[Diagnosis]:
    """Look at disk, memory and processors, by the container's limits where there are any."""
    container = container_limits()
    yield disk(patient.study)
    yield from shared_memory(patient.study)
    yield memory(container)
    yield processors(container)


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


def memory(container: ContainerLimits) -> Diagnosis:
    """Say what memory is left, by the container's limit where there is one."""
    machine, limit = psutil.virtual_memory(), container.memory
    if limit is None or limit >= machine.total:
        return good("memory", "memory", f"{machine.available / _GIB:.0f} of {machine.total / _GIB:.0f} GiB available")
    used = "\N{EN DASH}" if container.memory_used is None else f"{container.memory_used / _GIB:.1f}"
    return Diagnosis(
        "memory_limited",
        "note",
        "memory",
        f"the container may use {limit / _GIB:.1f} of {machine.total / _GIB:.0f} GiB, and uses {used}",
        why="weights pass through this memory on their way to a GPU, and a process beyond the limit is killed unasked",
        fix="allow at least the largest shard of the checkpoint and some GiB more",
    )


def busy_now() -> Iterator[Diagnosis]:
    """Say whether something else computes here at this moment, which the minute's load average cannot tell.

    Only what is missing of the usable processors counts: a large machine may be busy elsewhere.
    """
    usable = len(os.sched_getaffinity(0))
    busy = psutil.cpu_percent(interval=_MOMENT_S) / 100 * (psutil.cpu_count() or usable)
    free = max(0.0, (psutil.cpu_count() or usable) - busy)
    if free < (1 - _BUSY) * usable:
        yield Diagnosis(
            "processors_busy",
            "note",
            "processors",
            f"{free:.1f} of {usable} are free at this moment: something else computes here",
            why="the client and every server on this machine share them; the run then takes up to several times as "
            "long, and its times tell of the neighbours",
            fix="wait, or end what else runs; the report says afterwards which cells were not quiet",
        )


def processors(container: ContainerLimits) -> Diagnosis:
    """Say how many processors there are, and whether others use them."""
    allowed = len(os.sched_getaffinity(0))
    usable = allowed if container.processors is None else min(allowed, container.processors)
    load = os.getloadavg()[0]
    if load > _BUSY * allowed:
        return Diagnosis(
            "processors_busy",
            "note",
            "processors",
            f"{usable:g} usable, and over the last minute {load:.1f} processes wanted to run",
            why="the client, the server's front end and the neighbours share them; times then tell of the neighbours",
            fix="wait, or end what else runs; the client's verdict says afterwards whether it mattered",
        )
    if usable < _FEW:
        return Diagnosis(
            "processors_few",
            "note",
            "processors",
            f"{usable:g} usable",
            why="a server's front end alone fills one at some thousand tokens a second, and the client needs another",
            fix="give the container more, or keep loads low",
        )
    return good("processors", "processors", f"{usable:g} usable, load {load:.1f}")

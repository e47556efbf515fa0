"""What the system lets one process have: open files, processes, ports."""

import resource
from collections.abc import Iterator
from pathlib import Path

from whichbits.conduct.open_files import open_files_needed
from whichbits.doctor.diagnosis import Diagnosis, Patient, good, unknown
from whichbits.hardware.container import container_limits
from whichbits.hardware.open_files import OpenFiles, open_files
from whichbits.serve.process.server import free_ports
from whichbits.study.model import Study

_COMFORTABLE_FILES = 4096
_COMFORTABLE_PROCESSES = 4096
_FEWEST_PROCESSES = 512
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_UNLIMITED = resource.RLIM_INFINITY


def check_limits(patient: Patient) -> Iterator[Diagnosis]:
    """Look at limits that end a study in its middle, when they are met."""
    yield files(open_files(), patient.study)
    yield processes(resource.getrlimit(resource.RLIMIT_NPROC)[0], container_limits().processes)
    yield from ports(patient.study)


def files(limits: OpenFiles, study: Study | None) -> Diagnosis:
    """Hold the limits of open files against the study's highest load; `whichbits run` raises the soft one itself."""
    needed = _COMFORTABLE_FILES if study is None else open_files_needed(study)
    soft, hard = limits
    if limits.room_for(needed):
        raised = "" if soft is None or soft >= needed else f", raised for the run from {soft}"
        allowed = "no limit" if hard is None else f"up to {hard}"
        return good("open_files", "open files", f"{allowed}{raised}")
    return Diagnosis(
        "open_files",
        "note" if study is None else "problem",
        "open files",
        f"the hard limit is {hard}, and "
        + ("high loads want more" if study is None else f"the highest load needs {needed} in one process"),
        why="each stream is a socket, in the client and in the server",
        fix="raise it: ulimit -Hn, LimitNOFILE= of a unit, or --ulimit nofile of a container",
    )


def processes(soft: int, in_container: int | None) -> Diagnosis:
    """Look at how many processes and threads there may be: engines start pools of them, one thread a core and pool."""
    limits = [limit for limit in (soft, in_container) if limit is not None and limit != _UNLIMITED]
    if not limits or min(limits) >= _COMFORTABLE_PROCESSES:
        return good("processes", "processes", f"up to {min(limits)}" if limits else "no limit")
    return Diagnosis(
        "processes_few",
        "problem" if min(limits) < _FEWEST_PROCESSES else "note",
        "processes",
        f"{min(limits)} processes and threads are allowed",
        why="engines, tokeniser pools and the client's workers start hundreds of threads; one too many ends them",
        fix="raise it: ulimit -u, TasksMax= of a unit, or --pids-limit of a container",
    )


def ports(study: Study | None) -> Iterator[Diagnosis]:
    """See whether servers can have ports, and each stream one of its own; whichbits picks free ones at each start."""
    wanted = 1 if study is None else max(1, *(arm.replicas for arm in study.arms.values() if arm.target is None), 1)
    try:
        found = free_ports(wanted)
    except OSError as error:
        yield Diagnosis(
            "ports_taken",
            "problem",
            "ports",
            f"no free port can be had on 127.0.0.1: {error.strerror}",
            why="all are taken, or the loopback interface is down in this container",
            fix="look at what listens and waits (ss -tan), and at `ip link show lo`",
        )
        return
    yield from _for_streams(study, len(found))


def _for_streams(study: Study | None, found: int) -> Iterator[Diagnosis]:
    try:
        low, high = (int(bound) for bound in _PORTS.read_text(encoding="utf-8").split())
    except (OSError, ValueError) as error:
        yield unknown("ports", "ports", f"how many there are for connections is not known: {error}")
        return
    there = high - low + 1
    needed = 0 if study is None else open_files_needed(study)
    if there >= needed:
        yield good("ports", "ports", f"{found} free for servers, {there} for connections")
        return
    yield Diagnosis(
        "ports_few",
        "problem",
        "ports",
        f"{there} for connections, and the highest load has {needed}",
        why="each connection to one server has a local port of its own",
        fix="sysctl -w net.ipv4.ip_local_port_range='1024 65535'",
    )

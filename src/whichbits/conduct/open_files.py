"""Whether a study's largest load fits the limit of open files, known before a server starts."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from whichbits.drive.crew.split import workers_for
from whichbits.drive.routing import Route
from whichbits.drive.sending.worker import MOST_UNCAPPED, UNCAPPED_NS
from whichbits.errors import BadInput
from whichbits.hardware.open_files import open_files, raise_soft_limit
from whichbits.study.arm import Arm
from whichbits.study.model import Load, Study
from whichbits.study.search import AutoLoads
from whichbits.traffic.plan import request_count

_OTHERS = 64
"""Files that a process has open besides: shards, pipes, libraries, a server's own."""
_PLANNED = ("round_robin", "random", "prefix_hash")
"""Policies that settle each request's replica beforehand, so that each may have to hold all that are in flight."""


@dataclass(frozen=True)
class OpenFilesRaised:
    """This process's soft limit was raised, and with it that of all that it starts."""

    before: int
    limit: int

    def __str__(self) -> str:
        """Say it in a run's notes."""
        return f"the limit of open files was raised from {self.before} to {self.limit}"


def open_files_needed(study: Study) -> int:
    """Return the most files that any one process of the study opens, as far as that is certain beforehand.

    That is a worker with its connections, or a server that the study starts with its clients.
    """
    return _OTHERS + max(
        (each for load in _loads(study) for arm in study.arms.values() for each in _connections(study, arm, load)),
        default=0,
    )


def insist_on_open_files(study: Study) -> None:
    """Raise BadInput ``open_files_too_few`` if the hard limit is too low for the study's largest load."""
    needed, limits = open_files_needed(study), open_files()
    if not limits.room_for(needed):
        raise BadInput(
            "open_files_too_few",
            f"the study's largest load needs {needed} open files in one process, and {limits.hard} are allowed",
            why="each stream is a connection, and a connection is an open file in the client and in the server",
            fix="raise the hard limit (ulimit -Hn, LimitNOFILE= of a unit, --ulimit nofile of a container), or take a "
            "lower load, or more client.workers if only the client is short",
        )


def raise_open_files(study: Study) -> OpenFilesRaised | None:
    """Raise the soft limit as far as the study needs it; None where it was high enough.

    Raises:
        BadInput: ``open_files_too_few``.
    """
    insist_on_open_files(study)
    needed, before = open_files_needed(study), open_files().soft
    if before is None or before >= needed:
        return None
    # Twice as many: a server that somebody watches, or that answers slowly, has more than its streams.
    after = raise_soft_limit(2 * needed).soft
    return None if after is None or after == before else OpenFilesRaised(before, after)


def _loads(study: Study) -> tuple[Load, ...]:
    loads = study.loads
    return (Load(concurrency=loads.auto.highest),) if isinstance(loads, AutoLoads) else loads


def _connections(study: Study, arm: Arm, load: Load) -> Iterator[int]:
    """Yield the connections of a worker and of a replica; workers on other machines have limits of their own."""
    requests = request_count(study.cell, load, study.arrivals)
    streams = min(_in_flight(load), requests)
    replicas = arm.replicas if arm.target is None else max(1, len(arm.target.urls))
    if study.client.ray is None:
        workers = workers_for(load, requests, study.client.workers, Route(arm.balance))
        each = math.ceil(streams / workers)
        share = requests // workers // replicas
        yield replicas * min(each, share) if arm.balance in _PLANNED and replicas > 1 else each
    if arm.target is None:
        yield streams // replicas


def _in_flight(load: Load) -> int:
    if load.concurrency is not None:
        return load.concurrency
    return math.floor(min(MOST_UNCAPPED, (load.request_rate or 0.0) * (UNCAPPED_NS / 1e9)))

"""The processes of one vLLM deployment, told apart by the names and process ids in front of their lines."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from whichbits.serve.logs.lines import LogLine, Writer
from whichbits.serve.logs.reading import search
from whichbits.serve.logs.vllm.wordings import WORLD

_ENGINE = re.compile(r"EngineCore(?:_(?:DP)?(?P<number>\d{1,6}))?\b")
_WORKER = re.compile(r"(?:Vllm)?Worker(?:Process|Proc)?(?:[-_ ].*)?|RayWorkerProc|RayWorkerWrapper")
_SPEAKS_OF = re.compile(r"Engine (?P<number>\d{3}): ")
_PLACES = re.compile(r"(?<![A-Z])(PCP|DCP|DP|PP|TP|EP)(\d{1,6})")
_BARE_RANK = re.compile(r"\brank=(\d{1,6})")
_SIZES = {"TP": "tensor_parallel_size_seen", "PP": "pipeline_parallel_size_seen", "DP": "data_parallel_size_seen"}

WorkerKey = int | str


@dataclass(frozen=True)
class Worker:
    """One worker process: its key (process id, or a name where none is printed) and its place in the grid."""

    key: WorkerKey
    names: tuple[str, ...]

    @property
    def places(self) -> dict[str, int]:
        """Return e.g. {"DP": 0, "TP": 1}, from the last name that tells it."""
        found = [_PLACES.findall(name) for name in self.names]
        known = [places for places in found if places]
        return {dimension: int(number) for dimension, number in known[-1]} if known else {}

    @property
    def label(self) -> str | int | None:
        """Return ``TP1``, ``DP0_TP1`` …, or the number where only ``rank=N`` is printed."""
        if places := self.places:
            return "_".join(f"{dimension}{number}" for dimension, number in places.items())
        ranks = [int(found[1]) for name in self.names if (found := _BARE_RANK.search(name))]
        return ranks[-1] if ranks else None


@dataclass(frozen=True)
class Crew:
    """All workers and engines that a log shows."""

    workers: Mapping[WorkerKey, Worker]
    engines: tuple[int, ...]
    world_size: int | None

    def worker_of(self, line: LogLine) -> WorkerKey:
        """Return who wrote a line of a worker; an engine core without workers of its own is one."""
        writer = line.innermost
        return "" if writer is None else _key(writer)

    def label_of(self, key: WorkerKey) -> str | int | None:
        """Return the rank of a worker; None where the log does not name it."""
        worker = self.workers.get(key)
        return worker.label if worker else None

    def engine_of(self, line: LogLine) -> int:
        """Return the data-parallel engine that a line belongs to; 0 where the line names none."""
        worker = self.workers.get(self.worker_of(line))
        if worker and "DP" in worker.places:
            return worker.places["DP"]
        return next((number for writer in line.writers if (number := _engine(writer.name)) is not None), 0)

    def places(self, dimension: str) -> list[int]:
        """Return the ranks seen along one dimension of the grid; several engines are data-parallel ranks."""
        seen = {worker.places[dimension] for worker in self.workers.values() if dimension in worker.places}
        engines = self.engines if dimension == "DP" and len(self.engines) > 1 else ()
        return sorted(seen.union(engines))

    def sizes_seen(self) -> dict[str, int]:
        """Return the least size of each dimension that the names prove.

        Names leave out dimensions of size 1: where only one is named, it is the whole world.
        """
        sizes = {fact: max(seen) + 1 for name, fact in _SIZES.items() if (seen := self.places(name))}
        if self.world_size and len(sizes) == 1 and not self.places("PCP") and not self.places("DCP"):
            (only,) = sizes
            sizes[only] = max(self.world_size, sizes[only])
        return sizes


def read_crew(lines: Sequence[LogLine]) -> Crew:
    """Collect who wrote the lines."""
    workers: dict[WorkerKey, Worker] = {}
    engines: dict[int, None] = {}
    for line in lines:
        for writer in line.writers:
            if (number := _engine(writer.name)) is not None:
                engines[number] = None
        if found := _SPEAKS_OF.match(line.text):
            engines[int(found["number"])] = None
        last = line.innermost
        if last and _WORKER.fullmatch(last.name):
            workers[_key(last)] = _with_name(workers.get(_key(last)), line.writers)
    engines |= dict.fromkeys(worker.places["DP"] for worker in workers.values() if "DP" in worker.places)
    return Crew(workers, tuple(sorted(engines)), _world_size(lines))


def _with_name(worker: Worker | None, writers: Iterable[Writer]) -> Worker:
    *_, innermost = writers
    known = worker.names if worker else ()
    names = [writer.name for writer in writers if _key(writer) == _key(innermost) and writer.name not in known]
    return Worker(_key(innermost), (*known, *dict.fromkeys(names)))


def _key(writer: Writer) -> WorkerKey:
    return writer.name if writer.pid is None else writer.pid


def _engine(name: str) -> int | None:
    found = _ENGINE.fullmatch(name)
    return None if found is None else int(found["number"] or 0)


def _world_size(lines: Sequence[LogLine]) -> int | None:
    for line in lines:
        if found := search(WORLD, line):
            return int(found["world_size"])
    return None

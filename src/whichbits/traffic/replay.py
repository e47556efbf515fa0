"""The requests of another run once more: its lengths and times, and its prompts where they can be planned again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.record.schema import Cell, Manifest, RequestRecord
from whichbits.study.model import CellSize, Load, Study
from whichbits.study.read import study_of_record
from whichbits.study.recorded_traffic import RunTraffic
from whichbits.study.traffic import AnyTraffic
from whichbits.traffic.asked import Asked
from whichbits.traffic.facts import needs_text
from whichbits.traffic.request import PlannedRequest
from whichbits.traffic.version import FileVersion, version_of

Plan = Callable[[Study, Load, int], list[PlannedRequest]]
"""Plans a cell; ``traffic.plan`` hands itself in."""


@dataclass(frozen=True)
class Replayed:
    """A source run as far as a replay needs it; ``study`` is None where its prompts cannot be planned again."""

    path: Path
    manifest: Manifest
    study: Study | None
    by_load: dict[str, tuple[tuple[Cell, tuple[RequestRecord, ...]], ...]]

    def cell(self, load: Load, repeat: int) -> tuple[Cell, tuple[RequestRecord, ...]]:
        """Return the cell of that load and repeat; repeats that the run lacks begin again from its first.

        Raises:
            BadInput: ``replay_without_load``.
        """
        cells = self.by_load.get(str(load))
        if cells is None:
            raise _without_load(self, load)
        return cells[repeat % len(cells)]


def replay(traffic: RunTraffic, asked: Asked, plan: Plan) -> list[PlannedRequest]:
    """Return the run's requests at the asked load, in order of their schedule, ``asked.count`` of them.

    A warm-up (a repeat below 0) has no load of the run: it takes lengths of its first one, with ids that no cell has.

    Raises:
        BadInput: ``replay_without_load``, ``replay_unusable``, ``traffic_needs_text``, or what reading the run raises.
    """
    source = replayed(traffic)
    load = asked.load if asked.repeat >= 0 else _first_load(source)
    cell, records = source.cell(load, max(asked.repeat, 0))
    prompts = _prompts(source, asked, load, plan, records)
    if asked.study.request.prompt != "text" and any(request.messages for request in prompts):
        raise needs_text(source.path)
    places = {record.index: place for place, record in enumerate(records)}
    planned = [_again(prompts, index, places, len(records)) for index in range(asked.count)]
    if load.request_rate is None or asked.repeat < 0:
        return planned
    began_ns = records[0].scheduled_ns if cell.started_ns is None else cell.started_ns
    return [_timed(request, records, began_ns) for request in planned]


def _again(prompts: Sequence[PlannedRequest], index: int, places: dict[int, int], rows: int) -> PlannedRequest:
    """Return a request under its place in the replay, and so the one that it follows."""
    request = prompts[index]
    if request.follows is None:
        return replace(request, index=index, offset_ns=None)
    follows = index // rows * rows + places[request.follows]
    return replace(request, index=index, offset_ns=None, follows=follows)


def _timed(request: PlannedRequest, records: Sequence[RequestRecord], began_ns: int) -> PlannedRequest:
    if request.follows is not None:
        return request
    lap, row = divmod(request.index, len(records))
    offset_ns = records[row].scheduled_ns - began_ns + lap * _lap_ns(records)
    return replace(request, offset_ns=max(0, offset_ns))


def replay_count(traffic: RunTraffic, load: Load) -> int:
    """Return how many requests the run sent at ``load``."""
    return len(replayed(traffic).cell(load, 0)[1])


def replay_facts(traffic: RunTraffic) -> dict[str, Any]:
    """Return what a run records of the run that it replays."""
    source = replayed(traffic)
    exact = source.study is not None
    return {
        "path": str(source.path),
        "format": "run",
        "run": source.manifest.name,
        "created": source.manifest.created,
        "source": source.manifest.source,
        "prompts": "as planned there" if exact else "drawn anew at the recorded lengths",
    }


def origin_of(traffic: AnyTraffic) -> AnyTraffic:
    """Return the traffic that was planned in the first place: of a replay, that of the run."""
    while isinstance(traffic, RunTraffic):
        study = replayed(traffic).study
        if study is None:
            return traffic
        traffic = study.traffic
    return traffic


def replayed(traffic: RunTraffic) -> Replayed:
    """Return the source run of a replay.

    Raises:
        BadInput: ``replay_unusable``, or what reading the run raises.
    """
    folder = Path(traffic.path).expanduser()
    Run.load(folder)  # says best what is wrong with a folder that is no run
    return _replayed(traffic, version_of(folder / "run.json"))


@lru_cache(maxsize=2)
def _replayed(traffic: RunTraffic, version: FileVersion) -> Replayed:
    run = Run.load(version.path.parent)
    by_load: dict[str, tuple[tuple[Cell, tuple[RequestRecord, ...]], ...]] = {}
    arms: dict[str, str] = {}
    for cell in run.cells:
        named = cell.arm == traffic.arm or (traffic.arm is None and cell.state == "done")
        if named and cell.state == "done" and (cell.concurrency or cell.request_rate):
            load = str(Load.of(cell))
            if arms.setdefault(load, cell.arm) == cell.arm:
                records = tuple(sorted(run.records(cell.cell), key=lambda record: (record.scheduled_ns, record.index)))
                by_load[load] = (*by_load.get(load, ()), (cell, records))
    by_load = {load: tuple(each for each in cells if each[1]) for load, cells in by_load.items()}
    by_load = {load: cells for load, cells in by_load.items() if cells}
    if not by_load:
        raise _unusable(version.path.parent, "it has no finished cell with requests" + _of(traffic.arm))
    return Replayed(version.path.parent, run.manifest, _study(run.manifest), by_load)


def _study(manifest: Manifest) -> Study | None:
    """Return the study by which prompts can be planned again; what was imported was planned by another tool."""
    return None if manifest.source == "imported" else study_of_record(manifest.study)


def _prompts(
    source: Replayed, asked: Asked, load: Load, plan: Plan, records: Sequence[RequestRecord]
) -> list[PlannedRequest]:
    """Return one request for each to be sent, times left out: planned as the run planned it, or drawn."""
    if source.study is None:
        return [_drawn(source, asked, index, records[index % len(records)]) for index in range(asked.count)]
    laps = -(-asked.count // len(records))
    size = CellSize(requests=len(plan(source.study, load, 0)))
    whole = source.study.model_copy(update={"cell": size})
    found: list[PlannedRequest] = []
    for lap in range(laps):
        by_index = {request.index: request for request in plan(whole, load, _repeat_of(asked.repeat, lap))}
        found += [_same(source, by_index, record) for record in records]
    return found


def _repeat_of(repeat: int, lap: int) -> int:
    """Return the repeat by which a lap's ids are drawn: the asked one, then some that nobody counts to."""
    return repeat if lap == 0 else 1_000_000 * lap + repeat


def _same(source: Replayed, by_index: dict[int, PlannedRequest], record: RequestRecord) -> PlannedRequest:
    planned = by_index.get(record.index)
    if planned is None or planned.output_tokens != record.requested_output_tokens:
        raise _unusable(source.path, f"request {record.index} is not the one that its study plans")
    return planned


def _drawn(source: Replayed, asked: Asked, index: int, record: RequestRecord) -> PlannedRequest:
    length = record.prompt_tokens
    if not length:
        raise _unusable(source.path, f"request {record.index} has no prompt length, and its prompt is not known")
    ids = asked.own("ids", index).integers(*asked.study.token_ids, length)
    return PlannedRequest(index, tuple(ids.tolist()), record.requested_output_tokens, None)


def _lap_ns(records: Sequence[RequestRecord]) -> int:
    span = records[-1].scheduled_ns - records[0].scheduled_ns
    return span + span // max(1, len(records) - 1)


def _first_load(source: Replayed) -> Load:
    return Load.of(next(iter(source.by_load.values()))[0][0])


def _of(arm: str | None) -> str:
    return "" if arm is None else f" of an arm {arm}"


def _without_load(source: Replayed, load: Load) -> BadInput:
    return BadInput(
        "replay_without_load",
        f"{source.path} has no finished cell at {load}; it has {', '.join(source.by_load)}",
        why="a replay sends what was sent, and at another load nothing was",
        fix="take the study's loads from those that the run has",
    )


def _unusable(path: Path, why: str) -> BadInput:
    return BadInput(
        "replay_unusable",
        f"{path} cannot be replayed: {why}",
        why="the run is unfinished, keeps no requests, or its study or a file of its traffic has changed since",
        fix="name a finished run that keeps its requests, with the files that it read",
    )

"""Climbing: twice the streams at each rung, for each cadence, until the client is no longer right or says so."""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from whichbits.conduct.self_test.drive import Order
from whichbits.conduct.self_test.rung import Rung
from whichbits.serve.mock.settings import Cadence

SECONDS = 30.0
FIRST_STREAMS = 32
MOST_STREAMS = 16_384
_SHORTEST_RUNG, _LONGEST_RUNG = 0.2, 3.0
_MISSES = 2
_MOST_TRIES = 4
_RUNGS = 20
"""About how many a whole test has: its time over this is a rung's."""

Drive = Callable[[Order], Awaitable[Rung]]
Told = Callable[[Rung], None]
End = Literal["client", "mock", "time", "streams"]


@dataclass(frozen=True)
class Climb:
    """One cadence's rungs in their order, and what ended the climb: ``streams`` is the end of the ladder."""

    cadence: Cadence
    rungs: tuple[Rung, ...]
    end: End

    def limit(self, judgements: Sequence[str]) -> Rung | None:
        """Return the highest rung up to which every number of streams had, at its best try, such a judgement."""
        highest = None
        for rung in _best(self.rungs):
            if rung.judgement not in judgements:
                break
            highest = rung
        return highest


@dataclass(frozen=True)
class Ladder:
    """How far to climb and how long. ``processes`` are the mocks of a rung."""

    seconds: float = SECONDS
    first_streams: int = FIRST_STREAMS
    most_streams: int = MOST_STREAMS
    processes: int = 1
    clock: Callable[[], float] = field(default=time.monotonic)

    @property
    def rung_seconds(self) -> float:
        """How long tokens come in one rung."""
        return min(max(self.seconds / _RUNGS, _SHORTEST_RUNG), _LONGEST_RUNG)


async def climb(ladder: Ladder, drive: Drive, told: Told) -> tuple[Climb, ...]:
    """Climb once for each cadence; each gets an equal share of the time that is left."""
    cadences = get_args(Cadence)
    climbs: list[Climb] = []
    began_s = ladder.clock()
    for place, cadence in enumerate(cadences):
        left_s = ladder.seconds - (ladder.clock() - began_s)
        climbs.append(await _climb(ladder, cadence, left_s / (len(cadences) - place), drive, told))
    return tuple(climbs)


async def _climb(ladder: Ladder, cadence: Cadence, seconds: float, drive: Drive, told: Told) -> Climb:
    rungs: list[Rung] = []
    until_s = ladder.clock() + seconds
    for streams in _doubled(ladder):
        if rungs and ladder.clock() >= until_s:
            return Climb(cadence, tuple(rungs), "time")
        order = Order(cadence, streams, ladder.rung_seconds, ladder.processes)
        tries = await _tries(order, drive, told, lambda: ladder.clock() >= until_s)
        rungs += tries
        if not tries[-1].holds:
            return Climb(cadence, tuple(rungs), _end_of(tries))
    return Climb(cadence, tuple(rungs), "streams")


async def _tries(order: Order, drive: Drive, told: Told, is_over: Callable[[], bool]) -> list[Rung]:
    """Drive a rung, and again if it did not hold: what a machine does beside us for a moment is no limit of anybody."""
    tries: list[Rung] = []
    while not tries or not (tries[-1].holds or _against_client(tries) or len(tries) >= _MOST_TRIES or is_over()):
        tries.append(await drive(order))
        told(tries[-1])
    return tries


def _end_of(tries: Sequence[Rung]) -> End:
    """Return what ended a climb at a rung that did not hold, however often it was tried."""
    if _against_client(tries):
        return "client"
    return "mock" if any(rung.judgement == "mock_late" for rung in tries) else "time"


def _against_client(tries: Sequence[Rung]) -> bool:
    """Return whether the client missed twice what the mock kept."""
    return sum(not rung.holds and rung.judgement != "mock_late" for rung in tries) >= _MISSES


def _doubled(ladder: Ladder) -> Iterator[int]:
    streams = ladder.first_streams
    while streams <= ladder.most_streams:
        yield streams
        streams *= 2


def _best(rungs: Sequence[Rung]) -> list[Rung]:
    """Return one rung for each number of streams: of two tries the one with the smaller error."""
    best: dict[int, Rung] = {}
    for rung in rungs:
        before = best.get(rung.streams)
        if before is None or (rung.holds, -_error(rung)) > (before.holds, -_error(before)):
            best[rung.streams] = rung
    return list(best.values())


def _error(rung: Rung) -> float:
    return float("inf") if rung.errors is None else rung.errors.worst_p99

"""How far a study is and how long it will still take, from what its finished cells took."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from whichbits.conduct.events import (
    ArmStarting,
    CellFinished,
    CellProgress,
    CellStarted,
    Decision,
    Event,
    StudyStarted,
)
from whichbits.record.schema import Cell

Load = tuple[int | None, float | None]

_ENOUGH = 0.25
"""Share of a cell's requests: the first of them end together, and say little."""


@dataclass
class Pace:
    """Follows the events of one study; times are seconds of the clock that ``follow`` is given."""

    cells: tuple[Cell, ...] = ()
    arms: tuple[str, ...] = ()
    estimate_s: float | None = None
    cell_estimates_s: tuple[float, ...] = ()
    budget_s: float | None = None
    elapsed_s: float = 0.0
    current: Cell | None = None
    requests: int = 0
    progress: CellProgress | None = None
    finished: int = 0
    _began: float = 0.0
    _took: dict[Load, list[float]] = field(default_factory=dict)
    _done_estimates_s: list[float] = field(default_factory=list)
    _readied: list[float] = field(default_factory=list)
    _arm_since: float | None = None
    _cell_since: float | None = None

    def follow(self, event: Event, now: float) -> None:
        """Take one event."""
        self.elapsed_s = now - self._began
        match event:
            case StudyStarted():
                self.budget_s, self._began, self.elapsed_s = event.budget_s, now, 0.0
                self.cells, self.arms, self.estimate_s = event.cells, event.arms, event.estimate_s
                self.cell_estimates_s = event.cell_estimates_s
            case Decision():
                self.cells += event.cells
            case ArmStarting():
                self._arm_since = now
            case CellStarted():
                self._start(event, now)
            case CellProgress():
                self.progress = event
            case CellFinished():
                self._finish(event.cell, now)
            case _:
                pass

    @property
    def share(self) -> float:
        """How much of the study's cells is done, 0 to 1; a cell in flight counts by its requests.

        Of a search, how much of its budget is spent.
        """
        if self.budget_s is not None:
            return min(1.0, self.elapsed_s / self.budget_s) if self.budget_s else 1.0
        part = self.progress.finished / self.progress.requests if self.progress and self.progress.requests else 0.0
        return min(1.0, (self.finished + part) / len(self.cells)) if self.cells else 0.0

    @property
    def position(self) -> int:
        """Which cell of the study this is, from 1."""
        return min(self.finished + (self.current is not None), len(self.cells))

    def left_s(self, now: float) -> float | None:
        """Return the seconds left: cells like finished ones of their load, arms like those that started.

        A cell of a load that none has finished takes its estimate, stretched as finished cells were against theirs.
        Of a search, what is left of its budget: it may end sooner.
        """
        if self.budget_s is not None:
            return max(0.0, self.budget_s - (now - self._began))
        left = range(self.finished, len(self.cells))
        durations = [self._expected_s(place) for place in left]
        known = [duration for duration in durations if duration is not None]
        if len(known) < len(durations):
            return None
        spent = now - self._cell_since if self._cell_since is not None and self.current else 0.0
        if known and self.current:
            known[0] = self._by_its_own_pace(spent) or known[0]
        under_way = min(spent, known[0]) if known else 0.0
        arms_left = max(0, len(self.arms) - len(self._readied))
        return sum(known) - under_way + arms_left * (fmean(self._readied) if self._readied else 0.0)

    def _start(self, event: CellStarted, now: float) -> None:
        self.current, self.requests, self.progress, self._cell_since = event.cell, event.requests, None, now
        if self._arm_since is not None:
            self._readied.append(now - self._arm_since)
            self._arm_since = None

    def _finish(self, cell: Cell, now: float) -> None:
        if self._cell_since is not None:
            self._took.setdefault(_load(cell), []).append(now - self._cell_since)
            self._done_estimates_s += self.cell_estimates_s[self.finished : self.finished + 1]
        self.finished, self.current, self.progress, self._cell_since = self.finished + 1, None, None, None

    def _by_its_own_pace(self, spent: float) -> float | None:
        """Return how long the cell in flight will have taken by its own requests, once enough of them are finished."""
        if self.current is None or _load(self.current) in self._took or not self.progress:
            return None
        finished, requests = self.progress.finished, self.progress.requests
        return spent * requests / finished if requests and finished >= _ENOUGH * requests else None

    def _expected_s(self, place: int) -> float | None:
        took = self._took.get(_load(self.cells[place]))
        if took:
            return fmean(took)
        everything = [seconds for each in self._took.values() for seconds in each]
        if place < len(self.cell_estimates_s):
            return self.cell_estimates_s[place] * self._stretch(everything)
        if everything:
            return fmean(everything)
        return None if self.estimate_s is None else self.estimate_s / len(self.cells)

    def _stretch(self, took: Sequence[float]) -> float:
        """Return how many times as long as estimated the finished cells took; 1 before there are any."""
        estimated = sum(self._done_estimates_s)
        return sum(took) / estimated if estimated > 0 and len(took) == len(self._done_estimates_s) else 1.0


def _load(cell: Cell) -> Load:
    return (cell.concurrency, cell.request_rate)

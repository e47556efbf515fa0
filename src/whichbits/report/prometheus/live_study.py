"""A study that this process drives, followed by its events and readable from another thread."""

import time
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from whichbits.conduct.events import (
    ArmReady,
    ArmStarting,
    CellFinished,
    CellProgress,
    CellStarted,
    Event,
    StudyFinished,
    StudyStarted,
    WarmingUp,
)
from whichbits.record.row_groups import RowGroups
from whichbits.record.timelines import Timelines
from whichbits.record.writer import RunWriter
from whichbits.report.progress.pace import Pace
from whichbits.report.prometheus.engines import EngineReader
from whichbits.report.prometheus.latencies import Latencies
from whichbits.report.prometheus.watched_run import Now, Phase, WatchedRun, exposition
from whichbits.report.wording import load_text

Clock = Callable[[], float]

_PHASES: dict[type[object], Phase] = {
    ArmStarting: "starting",
    ArmReady: "between_cells",
    WarmingUp: "warming_up",
    CellStarted: "measuring",
    CellFinished: "between_cells",
    StudyFinished: "finished",
}


class LiveStudy:
    """A listener; while a cell runs, an event costs it two assignments."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        """Count times by ``clock``, in seconds."""
        self._clock = clock
        self._lock = Lock()
        self._pace = Pace()
        self._now = Now()
        self._writer: RunWriter | None = None
        self._engines: EngineReader | None = None

    def attach(self, writer: RunWriter) -> None:
        """Tell of the run that ``writer`` writes; before that there is nothing to tell."""
        with self._lock:
            self._writer, self._engines = writer, EngineReader(writer.folder)

    def __call__(self, event: Event, /) -> None:
        """Follow an event."""
        with self._lock:
            self._pace.follow(event, self._clock())
            self._now = replace(
                self._now, phase=_PHASES.get(type(event), self._now.phase), progress=self._pace.progress
            )
            match event:
                case StudyStarted():
                    self._now = replace(self._now, budget_s=event.budget_s)
                case CellStarted():
                    self._begin(event)
                case CellFinished():
                    self._end(event)
                case CellProgress() | _:
                    pass

    def text(self) -> str:
        """Return the metrics as they are now; for one reader at a time."""
        with self._lock:
            writer, reader = self._writer, self._engines
            if writer is None or reader is None:
                return ""
            manifest, now = writer.manifest, self._at(self._clock())
        # What engines say is read outside the lock: an event must not wait for a disk.
        if now.cell is not None:
            now = replace(now, engines=reader.read(manifest.arms[now.cell.arm], now.cell.cell))
        return exposition([WatchedRun(writer.folder.name, manifest, now)])

    def _begin(self, event: CellStarted) -> None:
        cells = () if self._writer is None else self._writer.manifest.cells
        self._now = replace(self._now, cell=event.cell, cells=cells)

    def _end(self, event: CellFinished) -> None:
        """Count the cell's times now: nothing is measured between two cells."""
        self._now = replace(self._now, cell=None, cells=())
        if self._writer is None or event.cell.state not in ("done", "interrupted"):
            return
        found = Latencies.of(Timelines.of(RowGroups(self._writer.folder).of_cell(event.cell.cell)))
        key = (event.cell.arm, load_text(event.cell))
        before = self._now.latencies.get(key)
        together = found if before is None else before + found
        self._now = replace(self._now, latencies={**self._now.latencies, key: together})

    def _at(self, now: float) -> Now:
        return replace(self._now, share=self._pace.share, elapsed_s=self._pace.elapsed_s, left_s=self._left_s(now))

    def _left_s(self, now: float) -> float | None:
        return None if self._now.phase == "preparing" else self._pace.left_s(now)

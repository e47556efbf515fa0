"""What cells and server starts take, learnt while a study runs from those that it measured."""

from dataclasses import dataclass, field
from statistics import median

import numpy as np

from whichbits.conduct.estimate import cell_seconds
from whichbits.record.writer import RunWriter
from whichbits.study.model import Load, Study


@dataclass
class Paces:
    """Seconds by arm, from what was measured; 0 as long as nothing was: a rough rule must not end a search unbegun."""

    study: Study
    writer: RunWriter
    _starts: dict[str, list[float]] = field(default_factory=dict)
    _rules: dict[tuple[str, int], float] = field(default_factory=dict)

    def cell(self, arm: str, load: int) -> float:
        """Return the seconds of a cell: the rule's, corrected by how it erred at the loads measured.

        Of an arm that has met no load yet, as another arm had it.
        """
        measured = self._measured(arm)
        if not measured:
            others = [other for other in self.study.arms if self._measured(other)]
            return self.cell(others[0], load) if others else 0.0
        loads = sorted(measured)
        errors = [np.log(measured[each] / self._rule(arm, each)) for each in loads]
        return self._rule(arm, load) * float(np.exp(np.interp(np.log(load), np.log(loads), errors)))

    def start(self, arm: str) -> float:
        """Return the seconds from the launch of an arm's servers to its first cell."""
        known = self._starts.get(arm) or [seconds for starts in self._starts.values() for seconds in starts]
        return median(known) if known else self._ready_seconds(arm)

    def visited(self, arm: str, overhead_s: float) -> None:
        """Learn what a start of an arm took: all the time of its visit but its cells'."""
        self._starts.setdefault(arm, []).append(max(0.0, overhead_s))

    def measured_seconds(self) -> float:
        """Return the time that finished cells took together."""
        return sum(self._durations().values())

    def _ready_seconds(self, arm: str) -> float:
        """Return what the arm's last start took in an earlier sitting, warm-up not counted."""
        record = self.writer.manifest.arms.get(arm)
        seconds = [replica.ready_seconds or 0.0 for replica in record.replicas] if record else []
        return max(seconds, default=0.0)

    def _measured(self, arm: str) -> dict[int, float]:
        durations = self._durations()
        mine = [cell for cell in self.writer.manifest.cells if cell.arm == arm and durations.get(cell.cell)]
        loads = {cell.concurrency for cell in mine if cell.concurrency is not None}
        return {load: median(durations[c.cell] for c in mine if c.concurrency == load) for load in loads}

    def _durations(self) -> dict[int, float]:
        return {
            cell.cell: (cell.finished_ns - cell.started_ns) / 1e9
            for cell in self.writer.manifest.cells
            if cell.state == "done" and cell.started_ns is not None and cell.finished_ns is not None
        }

    def _rule(self, arm: str, load: int) -> float:
        if (arm, load) not in self._rules:
            self._rules[arm, load] = max(1e-3, cell_seconds(self.study, arm, Load(concurrency=load)))
        return self._rules[arm, load]

"""Arms that share a GPU by sleeping: all but the one that is measured."""

from dataclasses import dataclass, replace

from whichbits.conduct.arms.warm import warm_up
from whichbits.conduct.events import Notice
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import unless
from whichbits.record.schema import Cell
from whichbits.serve.arm import RunningArm
from whichbits.serve.sleep import put_to_sleep, wake

TOLERANCE = 2.0
"""A woken arm is as fast as before if its pace differs by no more than this many times what ``warm_up`` allows."""


@dataclass
class Beds:
    """Who is awake: at most one arm. Methods raise ServerNotReady if an arm does not sleep or wake."""

    stage: Stage
    awake: RunningArm | None = None

    async def put_to_bed(self, running: RunningArm) -> None:
        """Let an arm sleep, and say what that gave back."""
        slept = await unless(self.stage.stop, put_to_sleep(running))
        freed = "nobody tells what that frees" if slept.freed_mib is None else f"{slept.freed_mib:.0f} MiB freed"
        self.stage.listen(Notice(f"{running.record.arm}: sleeps; {freed}"))
        if self.awake is running:
            self.awake = None

    async def up_for(self, cell: Cell, running: RunningArm) -> Cell:
        """Let only the cell's arm be awake, and warm by the same rule as after a start; return the cell, noted.

        The note says whether the arm is as fast as before it slept.
        """
        if self.awake is running:
            return cell
        if self.awake is not None:
            await self.put_to_bed(self.awake)
        await unless(self.stage.stop, wake(running))
        self.awake = running
        warmth = await unless(
            self.stage.stop, warm_up(self.stage.study, running, self.stage.crew, self.stage.cells_ended)
        )
        note = self._as_before(running, warmth.medians_ms[-1])
        self.stage.listen(Notice(f"{running.record.arm}: {note}"))
        return replace(cell, notes=(*cell.notes, note))

    def forget(self, running: RunningArm) -> None:
        """Count on an arm no longer: its server failed."""
        if self.awake is running:
            self.awake = None

    def _as_before(self, running: RunningArm, now_ms: float) -> str:
        before_ms = self.stage.writer.manifest.arms[running.record.arm].warm_up_tpot_ms[-1]
        pace = f"woken, its pace is {now_ms:.3g} ms against {before_ms:.3g} ms before it slept"
        within = abs(now_ms / before_ms - 1) <= TOLERANCE * self.stage.study.warm_up.stable_within
        return pace if within else f"{pace}: not as fast as before"

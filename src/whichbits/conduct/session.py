"""Running a study: visit each arm, drive its cells, hand every result to the writer at once."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from whichbits.conduct.arms.beds import Beds
from whichbits.conduct.arms.giving_up import Losses
from whichbits.conduct.arms.starting import bring_up, told_by_the_log
from whichbits.conduct.cells.cell import measure
from whichbits.conduct.estimate import StudyEstimate
from whichbits.conduct.events import StudyFinished, StudyStarted
from whichbits.conduct.order import Visit
from whichbits.conduct.profile import profile_arm
from whichbits.conduct.quality import ask_about_quality, is_wanted
from whichbits.conduct.searching.course import course
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import Stopped
from whichbits.errors import ServerNotReady
from whichbits.record.schema import Cell
from whichbits.serve.arm import RunningArm


async def conduct(stage: Stage, planned: Sequence[Visit], estimate: StudyEstimate) -> list[ServerNotReady]:
    """Make the ``planned`` visits, or those that the study's search decides; return servers that failed, with reasons.

    An arm that does not start or dies costs its own cells only: the others go on. An arm that is not what it
    claims ends the study (ArmMismatch). When ``stage.stop`` is set, what is finished is kept and the rest is left.
    """
    stage.listen(_started(stage, planned, estimate))
    stage.crew.take(1)  # its half a second passes while the first server starts
    failures: list[ServerNotReady] = []
    interrupted = False
    try:
        for visit in course(stage, planned):
            await _visit(stage, visit, failures)
    except Stopped:
        interrupted = True
    finally:
        stage.writer.finish(interrupted=interrupted)
        stage.listen(StudyFinished(interrupted))
    return failures


def _started(stage: Stage, planned: Sequence[Visit], estimate: StudyEstimate) -> StudyStarted:
    study, search = stage.study, stage.writer.manifest.search
    if study.searches:
        spent_s = 0.0 if search is None else search.spent_s
        return StudyStarted((), tuple(study.arms), budget_s=max(0.0, study.budget - spent_s))
    cells = tuple(cell for visit in planned for cell in visit.cells)
    return StudyStarted(cells, tuple(study.arms), estimate.seconds, estimate.cells, estimate.supposes)


async def _visit(stage: Stage, visit: Visit, failures: list[ServerNotReady]) -> None:
    """Bring up the visit's arms, then drive its cells; an arm that fails is given up."""
    beds = Beds(stage) if stage.study.arms_together == "sleep" else None
    losses = Losses(stage, visit, failures)
    async with AsyncExitStack() as servers:
        up = _Up(await bring_up(losses, servers, beds), beds)
        cells = visit.cells
        while cells:
            await _measure_all(replace(losses, visit=replace(visit, cells=cells)), up)
            cells = visit.more() if visit.more is not None else ()
        for arm, served in list(up.running.items()):
            if not stage.study.searches and is_wanted(stage, arm):
                with losses.borne(arm):
                    await _ask(stage, visit, up, served)
        # Last, since a profiler slows what it watches and its traffic leaves prompts in caches.
        for arm, served in up.running.items():
            await profile_arm(stage, [cell for cell in visit.cells if cell.arm == arm], served)


@dataclass(frozen=True)
class _Up:
    """The arms of a visit that run; ``beds`` if all but one of them sleep."""

    running: dict[str, RunningArm]
    beds: Beds | None

    async def measure(self, stage: Stage, cell: Cell) -> None:
        arm = self.running[cell.arm]
        async with told_by_the_log(arm):
            await measure(stage, cell if self.beds is None else await self.beds.up_for(cell, arm), arm)

    def lose(self, arm: str) -> None:
        if self.beds is not None:
            self.beds.forget(self.running[arm])
        del self.running[arm]


async def _measure_all(losses: Losses, up: _Up) -> None:
    """Drive the visit's cells of the arms that run; those that fail meanwhile no longer do."""
    for cell in losses.visit.cells:
        if cell.arm in up.running:
            with losses.borne(cell.arm) as attempt:
                await up.measure(losses.stage, cell)
            if attempt.failed:
                up.lose(cell.arm)


async def _ask(stage: Stage, visit: Visit, up: _Up, arm: RunningArm) -> None:
    """Ask an arm what its bits cost in answers; where arms take turns to be awake, it is woken."""
    mine = [cell for cell in visit.cells if cell.arm == arm.record.arm]
    if up.beds is not None and mine:
        await up.beds.up_for(mine[-1], arm)
    await ask_about_quality(stage, arm)

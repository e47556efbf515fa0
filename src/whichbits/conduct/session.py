"""Running a study: visit each arm, drive its cells, hand every result to the writer at once."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

from whichbits.conduct.beds import Beds
from whichbits.conduct.cell import measure
from whichbits.conduct.estimate import StudyEstimate
from whichbits.conduct.events import (
    ArmReady,
    ArmStarting,
    Notice,
    StudyFinished,
    StudyStarted,
    WarmingUp,
)
from whichbits.conduct.order import Visit
from whichbits.conduct.profile import profile_arm
from whichbits.conduct.quality import ask_about_quality, is_wanted
from whichbits.conduct.searching.course import course
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import Stopped, unless
from whichbits.conduct.warm import Warmth, warm_up
from whichbits.errors import ArmMismatch, ServerNotReady, in_one_line
from whichbits.record.schema import ArmRecord, Cell
from whichbits.record.writer import RunWriter
from whichbits.serve.arm import RunningArm, serve_arm
from whichbits.serve.sleep import able_to_sleep


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
    """Bring up the visit's arms one after the other, then drive its cells; an arm that fails is given up."""
    running: dict[str, RunningArm] = {}
    beds = Beds(stage) if stage.study.arms_together == "sleep" else None
    async with AsyncExitStack() as servers:
        for arm in visit.arms:
            with _given_up_if_not_ready(stage, visit, arm, failures):
                served = await _serve(stage, arm, servers)
                if beds is not None:
                    await beds.put_to_bed(served)
                running[arm] = served
        cells = visit.cells
        while cells:
            await _measure_all(stage, replace(visit, cells=cells), _Up(running, beds), failures)
            cells = visit.more() if visit.more is not None else ()
        for arm, served in list(running.items()):
            if not stage.study.searches and is_wanted(stage, arm):
                with _given_up_if_not_ready(stage, visit, arm, failures):
                    await _ask(stage, visit, _Up(running, beds), served)
        # Last, since a profiler slows what it watches and its traffic leaves prompts in caches.
        for arm, served in running.items():
            await profile_arm(stage, [cell for cell in visit.cells if cell.arm == arm], served)


@dataclass(frozen=True)
class _Up:
    """The arms of a visit that run; ``beds`` if all but one of them sleep."""

    running: dict[str, RunningArm]
    beds: Beds | None

    async def measure(self, stage: Stage, cell: Cell) -> None:
        arm = self.running[cell.arm]
        async with _told_by_the_log(arm):
            await measure(stage, cell if self.beds is None else await self.beds.up_for(cell, arm), arm)

    def lose(self, arm: str) -> None:
        if self.beds is not None:
            self.beds.forget(self.running[arm])
        del self.running[arm]


async def _measure_all(stage: Stage, visit: Visit, up: _Up, failures: list[ServerNotReady]) -> None:
    """Drive the visit's cells of the arms that run; those that fail meanwhile no longer do."""
    for cell in visit.cells:
        if cell.arm in up.running:
            with _given_up_if_not_ready(stage, visit, cell.arm, failures) as attempt:
                await up.measure(stage, cell)
            if attempt.failed:
                up.lose(cell.arm)


async def _ask(stage: Stage, visit: Visit, up: _Up, arm: RunningArm) -> None:
    """Ask an arm what its bits cost in answers; where arms take turns to be awake, it is woken."""
    mine = [cell for cell in visit.cells if cell.arm == arm.record.arm]
    if up.beds is not None and mine:
        await up.beds.up_for(mine[-1], arm)
    await ask_about_quality(stage, arm)


@dataclass
class _Attempt:
    failed: bool = False


@contextmanager
def _given_up_if_not_ready(stage: Stage, visit: Visit, arm: str, failures: list[ServerNotReady]) -> Iterator[_Attempt]:
    """Let an arm whose server fails cost its own cells only; one that is not what it claims ends the study."""
    attempt = _Attempt()
    try:
        yield attempt
    except ServerNotReady as failure:
        attempt.failed = True
        reason = in_one_line(failure)
        failures.append(failure.about(arm))
        stage.listen(Notice(f"{arm}: {reason}; its other cells are skipped"))
        _skip(stage.writer, visit, arm, reason)
    except ArmMismatch as mismatch:
        _skip(stage.writer, visit, arm, in_one_line(mismatch))
        raise


def _skip(writer: RunWriter, visit: Visit, arm: str, reason: str) -> None:
    """Give up the arm's cells that hold no requests; a cell that the failure cut short keeps its own."""
    empty = {cell.cell for cell in writer.manifest.cells if cell.state in ("planned", "skipped")}
    for cell in visit.cells:
        if cell.arm == arm and cell.cell in empty:
            writer.cell(replace(cell, state="skipped", notes=(reason,)), ())


async def _serve(stage: Stage, arm: str, servers: AsyncExitStack) -> RunningArm:
    study = stage.study
    stage.listen(ArmStarting(arm))
    wanted = able_to_sleep(study.arms[arm]) if study.arms_together == "sleep" else study.arms[arm]
    serving = serve_arm(arm, wanted, stage.writer.folder, study.limits, profiled=study.profile is not None)
    running = await unless(stage.stop, servers.enter_async_context(serving))
    stage.writer.arm(running.record)
    stage.listen(ArmReady(arm, running.ready_seconds, _facts_line(running.record)))
    async with _told_by_the_log(running):
        return await _warm(stage, running)


@asynccontextmanager
async def _told_by_the_log(running: RunningArm) -> AsyncIterator[None]:
    """Replace what a client sees of a dying server by what the server's log says."""
    try:
        yield
    except ServerNotReady as failure:
        raise (await running.fleet.death() or failure) from failure


async def _warm(stage: Stage, running: RunningArm) -> RunningArm:
    """Warm the arm; return it as its answers showed it."""
    stage.listen(WarmingUp(running.record.arm))
    warmth = await unless(stage.stop, warm_up(stage.study, running, stage.crew, stage.cells_ended))
    stage.writer.arm(_as_warmed(running.record, warmth))
    return replace(running, tells_usage=warmth.tells_usage)


def _as_warmed(record: ArmRecord, warmth: Warmth) -> ArmRecord:
    return replace(
        record, warm_up_tpot_ms=warmth.medians_ms, warm_up_stable=warmth.stable, warm_up_s=round(warmth.seconds, 3)
    )


def _facts_line(record: ArmRecord) -> str:
    """Return what a person wants to see when an arm comes up."""
    facts = record.replicas[0].facts
    shown = {
        "weights": ("model_memory_gib", "{:.2f} GiB"),
        "KV cache": ("kv_cache_tokens", "{:,} tokens"),
        "computes in": ("dtype", "{}"),
        "kernel": ("quant_kernels", "{}"),
    }
    known = [
        f"{word} {layout.format(facts[key].value)}"
        for word, (key, layout) in shown.items()
        if key in facts and facts[key].value is not None
    ]
    return ", ".join(known)

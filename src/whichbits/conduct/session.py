"""Running a study: visit each arm, drive its cells, hand every result to the writer at once."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from statistics import median

from whichbits.conduct.addresses import targets
from whichbits.conduct.cold import make_cold
from whichbits.conduct.events import (
    ArmReady,
    ArmStarting,
    CellFinished,
    CellProgress,
    CellStarted,
    Notice,
    Progress,
    StudyFinished,
    StudyStarted,
    WarmingUp,
)
from whichbits.conduct.neighbours import cpu_times, other_cores
from whichbits.conduct.order import Visit
from whichbits.conduct.stopping import Stopped, unless
from whichbits.conduct.warm import tpot_ms, warm_up
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.cell import Progress as CellListener
from whichbits.errors import ArmMismatch, ServerNotReady, WhichbitsError
from whichbits.record.schema import ArmRecord, Cell
from whichbits.record.scrapes import Phase, Scrape
from whichbits.record.writer import RunWriter
from whichbits.serve.arm import RunningArm, serve_arm
from whichbits.serve.control import Scrape as SeenMetrics
from whichbits.serve.replica import Replica
from whichbits.study.model import Load, Study
from whichbits.traffic.plan import plan_cell


@dataclass(frozen=True)
class Stage:
    """What every step of a study needs: the question, where answers go, who listens, the wish to stop, the clock.

    ``origin_ns`` is the ``time.monotonic_ns()`` from which every recorded time counts.
    """

    study: Study
    writer: RunWriter
    listen: Progress
    stop: asyncio.Event
    origin_ns: int


async def conduct(stage: Stage, visits: Sequence[Visit], estimate_s: float | None) -> list[ServerNotReady]:
    """Make all ``visits``; return the arms' servers that failed, each with its reason.

    An arm that does not start or dies costs its own cells only: the others go on. An arm that is not what it
    claims ends the study (ArmMismatch). When ``stage.stop`` is set, what is finished is kept and the rest is left.
    """
    cells = tuple(cell for visit in visits for cell in visit.cells)
    stage.listen(StudyStarted(cells, tuple(stage.study.arms), estimate_s))
    failures: list[ServerNotReady] = []
    interrupted = False
    try:
        for visit in visits:
            await _visit_or_skip(stage, visit, failures)
    except Stopped:
        interrupted = True
    finally:
        stage.writer.finish(interrupted=interrupted)
        stage.listen(StudyFinished(interrupted))
    return failures


async def _visit_or_skip(stage: Stage, visit: Visit, failures: list[ServerNotReady]) -> None:
    try:
        await _visit(stage, visit)
    except ServerNotReady as failure:
        reason = _in_one_line(failure)
        failures.append(failure.about(visit.arm))
        stage.listen(Notice(f"{visit.arm}: {reason}; its other cells are skipped"))
        _skip(stage.writer, visit, reason)
    except ArmMismatch as mismatch:
        _skip(stage.writer, visit, _in_one_line(mismatch))
        raise


def _in_one_line(error: WhichbitsError) -> str:
    return " ".join(f"{error.what.rstrip('.')}: {error.why.rstrip('.')}".split())


def _skip(writer: RunWriter, visit: Visit, reason: str) -> None:
    """Give up the visit's cells that hold no requests; a cell that the failure cut short keeps its own."""
    empty = {cell.cell for cell in writer.manifest.cells if cell.state in ("planned", "skipped")}
    for cell in visit.cells:
        if cell.cell in empty:
            writer.cell(replace(cell, state="skipped", notes=(reason,)), ())


async def _visit(stage: Stage, visit: Visit) -> None:
    study = stage.study
    stage.listen(ArmStarting(visit.arm))
    async with AsyncExitStack() as servers:
        serving = serve_arm(visit.arm, study.arms[visit.arm], stage.writer.folder, study.limits)
        running = await unless(stage.stop, servers.enter_async_context(serving))
        stage.writer.arm(running.record)
        stage.listen(ArmReady(visit.arm, running.ready_seconds, _facts_line(running.record)))
        try:
            await _warm(stage, running)
            for cell in visit.cells:
                await _drive(stage, cell, running)
        except ServerNotReady as failure:
            # What a client sees of a dying server says less than the server's log.
            raise (await running.fleet.death() or failure) from failure


async def _warm(stage: Stage, running: RunningArm) -> None:
    stage.listen(WarmingUp(running.record.arm))
    medians = await unless(stage.stop, warm_up(stage.study, running))
    stage.writer.arm(replace(running.record, warm_up_tpot_ms=medians))


async def _drive(stage: Stage, cell: Cell, running: RunningArm) -> None:
    load = Load(concurrency=cell.concurrency, request_rate=cell.request_rate)
    planned = plan_cell(stage.study, load, cell.repeat)
    came_before, lost = await _look_again(stage, running)
    if lost is not None:
        raise lost
    cache_state = await unless(stage.stop, make_cold(stage.study.cache, running))
    if stage.study.cache == "warm":
        await unless(stage.stop, drive_cell(targets(running), planned, load, stage.study.limits, stage.origin_ns))
    await unless(stage.stop, _scrape(stage, running, cell, "before"))
    stage.listen(CellStarted(cell, len(planned)))
    cpu_before = cpu_times()
    capture = await drive_cell(
        targets(running),
        planned,
        load,
        stage.study.limits,
        stage.origin_ns,
        progress=_cell_progress(stage, len(planned)),
        stop=stage.stop,
    )
    ended = replace(_ended(cell, capture, cache_state), other_cpu_cores=other_cores(cpu_before, cpu_times()))
    death = None if capture.cancelled or not ended.failed else await running.fleet.death()
    if death is not None:
        ended = replace(ended, state="interrupted", notes=(_in_one_line(death),))
    came_during, lost = ((), None) if capture.cancelled else await _look_again(stage, running)
    ended = replace(ended, notes=(*came_before, *ended.notes, *came_during))
    stage.writer.cell(ended, capture.records)
    stage.listen(CellFinished(ended, _median_tpot_ms(capture), _output_tokens_per_s(capture)))
    if (failure := death or lost) is not None:
        raise failure
    if capture.cancelled:
        raise Stopped
    await _scrape(stage, running, cell, "after")


async def _look_again(stage: Stage, running: RunningArm) -> tuple[tuple[str, ...], WhichbitsError | None]:
    """Return which servers came and went since the last look, and what hid them: a cell is kept before that is raised.

    Both are recorded with the arm and told.
    """
    try:
        changes = await running.fleet.refresh()
    except WhichbitsError as hidden:
        return (), hidden
    arm = running.record.arm
    if changes:
        stage.writer.arm(replace(stage.writer.manifest.arms[arm], replicas=running.fleet.records))
    for change in changes:
        stage.listen(Notice(f"{arm}: {change}"))
    return changes, None


def _cell_progress(stage: Stage, requests: int) -> CellListener:
    began_ns = time.monotonic_ns()

    def progress(sent: int, finished: int, failed: int, chunks: int) -> None:  # noqa: ARG001 - drive's Protocol
        elapsed_s = (time.monotonic_ns() - began_ns) / 1e9
        stage.listen(CellProgress(finished, failed, requests, chunks, elapsed_s))

    return progress


def _ended(cell: Cell, capture: CellCapture, cache_state: str) -> Cell:
    return replace(
        cell,
        state="interrupted" if capture.cancelled else "done",
        requests=len(capture.records),
        failed=sum(not record.succeeded for record in capture.records),
        started_ns=capture.started_ns,
        finished_ns=capture.finished_ns,
        client=capture.health,
        cache_state=cache_state,
    )


async def _scrape(stage: Stage, running: RunningArm, cell: Cell, phase: Phase) -> None:
    for replica in running.fleet.replicas:
        seen = await _seen(stage, running, replica) if replica.has_metrics else None
        if seen is not None:
            time_ns = seen.time_ns - stage.origin_ns
            stage.writer.scrape(Scrape(running.record.arm, replica.name, cell.cell, phase, time_ns, seen.text))


async def _seen(stage: Stage, running: RunningArm, replica: Replica) -> SeenMetrics | None:
    """Return a replica's metrics; None, and a note in the run, if they cannot be had though the arm serves."""
    try:
        return await replica.control.scrape()
    except ServerNotReady as silent:
        changes, _ = await _look_again(stage, running)
        if (death := await running.fleet.death()) is not None:
            raise death from silent
        for reason in changes or (_in_one_line(silent),):
            stage.writer.note(f"{running.record.arm}: {replica.name} has no metrics at this point: {reason}")
        return None


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


def _median_tpot_ms(capture: CellCapture) -> float | None:
    times = [value for record in capture.records if (value := tpot_ms(record)) is not None]
    return median(times) if times else None


def _output_tokens_per_s(capture: CellCapture) -> float | None:
    tokens = sum(sum(record.chunk_tokens) for record in capture.records)
    seconds = (capture.finished_ns - capture.started_ns) / 1e9
    return tokens / seconds if seconds > 0 else None

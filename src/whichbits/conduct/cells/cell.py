"""Measuring one cell: made cold, scraped before, watched while it is driven, scraped after, written down."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from whichbits.conduct.arms.addresses import targets
from whichbits.conduct.arms.observe import changes, scrape
from whichbits.conduct.cells.cold import make_cold
from whichbits.conduct.cells.neighbours import cpu_times, other_cores
from whichbits.conduct.cells.token_counts import count_tokens
from whichbits.conduct.events import CellFinished, CellProgress, CellStarted
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import Stopped, unless
from whichbits.drive.cell import CellCapture, capture_cell, drive_cell
from whichbits.drive.crew.leading import Progress as CellListener
from whichbits.drive.routing import Route
from whichbits.errors import WhichbitsError, in_one_line
from whichbits.language.amounts import amount
from whichbits.record.parts import part_path
from whichbits.record.schema import Cell, RequestRecord, TokenCountSource
from whichbits.serve.arm import RunningArm
from whichbits.serve.watch.meter import Meter, metered_devices
from whichbits.serve.watch.watch import Watch, WatchReport, WatchTarget
from whichbits.study.model import Load
from whichbits.traffic.plan import PlannedRequest, plan_cell


async def measure(stage: Stage, cell: Cell, running: RunningArm) -> None:
    """Drive ``cell`` and write it down, whatever becomes of it.

    Raises:
        Stopped: the user asked to stop; what was in flight is recorded as cancelled.
        ServerNotReady: a server of the arm died; the cell is kept as far as it came.
        ArmMismatch: a server that came during the cell is not the arm; the cell is kept.
        ClientFailed: a worker of the client died; the cell is kept as far as it came.
    """
    load = Load.of(cell)
    planned = plan_cell(stage.study, load, cell.repeat)
    notes = [*cell.notes, *await unless(stage.stop, changes(stage, running))]
    cache_state = await unless(stage.stop, _prepared_cache(stage, cell, running, planned))
    notes += await unless(stage.stop, scrape(stage, running, cell.cell, "before"))
    async with _watch(stage, running) as watch, _meter(stage, cell, running) as meter:
        stage.listen(CellStarted(cell, len(planned)))
        await meter.begin(cell.cell)
        capture, other_cpu_cores, report = await _watched(stage, cell, running, planned, watch)
        unmetered = await meter.pause()
    ended = replace(_ended(cell, capture, cache_state), other_cpu_cores=other_cpu_cores)
    records: Sequence[RequestRecord] = capture.records
    death: WhichbitsError | None = capture.failure
    if death is None and ended.failed and not capture.cancelled:
        death = await running.fleet.death()
    if death is not None:
        ended = replace(ended, state="interrupted")
        notes.append(in_one_line(death))
    elif not capture.cancelled:
        after, death = await _after(stage, running, cell)
        notes += after
        records, source = await unless(stage.stop, _counted(stage, cell, running, capture))
        ended = replace(ended, token_count_source=source)
    notes += [*capture.notes, *_watch_notes(report), *([] if unmetered is None else [unmetered])]
    _write(stage, replace(ended, notes=tuple(notes)), capture, records)
    stage.listen(CellFinished(ended, _median_tpot_ms(capture), _output_tokens_per_s(capture)))
    if death is not None:
        raise death
    if capture.cancelled:
        raise Stopped


async def _counted(
    stage: Stage, cell: Cell, running: RunningArm, capture: CellCapture
) -> tuple[Sequence[RequestRecord], TokenCountSource | None]:
    """Count the tokens of answers that came without usage; those on disk came with it."""
    if running.tells_usage:
        return (), "usage" if capture.tally.served else None
    return await count_tokens(stage.study.arms[cell.arm], running, capture.records)


def _write(stage: Stage, cell: Cell, capture: CellCapture, records: Sequence[RequestRecord]) -> None:
    if capture.parts:
        stage.writer.adopt(cell, capture.parts)
    else:
        stage.writer.cell(cell, records)


async def _prepared_cache(stage: Stage, cell: Cell, running: RunningArm, planned: Sequence[PlannedRequest]) -> str:
    """Return the state of the caches; where they are to be warm, the cell's own traffic has passed once."""
    if stage.study.cache == "warm":
        await drive_cell(
            targets(running, stage.study.request),
            planned,
            Load.of(cell),
            stage.study.limits,
            stage.origin_ns,
            route=_route(stage, cell),
            crew=stage.crew,
            records="nowhere",
        )
    return await make_cold(stage.study.cache, running)


def _watch(stage: Stage, running: RunningArm) -> Watch:
    """Return the watch over the servers as they are now; of those without metrics it sees nothing."""
    watched = [
        WatchTarget(
            running.record.arm,
            replica.name,
            replica.control.url,
            replica.bearer_variable,
            replica.way.ca_file,
            replica.way.proxy,
        )
        for replica in running.fleet.replicas
        if replica.has_metrics
    ]
    return Watch(watched, stage.writer.folder, stage.origin_ns)


def _meter(stage: Stage, cell: Cell, running: RunningArm) -> Meter:
    """Return the meter of the GPUs that the arm's servers have on this machine; without any it does nothing."""
    devices = metered_devices(stage.study.arms[cell.arm], running.record, os.environ)
    return Meter(devices, stage.writer.folder, stage.origin_ns)


async def _watched(
    stage: Stage, cell: Cell, running: RunningArm, planned: Sequence[PlannedRequest], watch: Watch
) -> tuple[CellCapture, float | None, WatchReport]:
    """Drive the cell under the watch; return what came back, the cores that others used, and how the watch went."""
    await watch.begin(cell.cell)
    cpu_before = cpu_times()
    capture = await capture_cell(
        targets(running, stage.study.request),
        planned,
        Load.of(cell),
        stage.study.limits,
        stage.origin_ns,
        route=_route(stage, cell),
        progress=_cell_progress(stage, len(planned)),
        stop=stage.stop,
        crew=stage.crew,
        # Texts that are still to be counted are never written, so such a cell stays in memory.
        records=partial(part_path, stage.writer.folder, cell.cell) if running.tells_usage else "memory",
    )
    cores = other_cores(cpu_before, cpu_times())
    return capture, cores, await watch.pause()


async def _after(stage: Stage, running: RunningArm, cell: Cell) -> tuple[list[str], WhichbitsError | None]:
    """Look at the servers once more; return what there is to note, and what shows only now: a death, another arm."""
    notes: list[str] = []
    try:
        notes += await changes(stage, running)
        notes += await scrape(stage, running, cell.cell, "after")
    except WhichbitsError as found:
        return notes, found
    return notes, None


def _route(stage: Stage, cell: Cell) -> Route:
    """Return how the arm's requests find a replica: alike for every arm, another draw in every repeat."""
    return Route(stage.study.arms[cell.arm].balance, seed=stage.study.seed + cell.repeat)


def _watch_notes(report: WatchReport) -> list[str]:
    if report.scrapes is not None and not report.failed and not report.skipped:
        return []
    if report.scrapes is None:
        return [f"the watch over /metrics broke off: {report.error}"]
    cause = f" ({report.error})" if report.error else ""
    return [f"the watch got {amount(report.scrapes, 'scrape')}; failed: {report.failed}, late: {report.skipped}{cause}"]


def _cell_progress(stage: Stage, requests: int) -> CellListener:
    began_ns = time.monotonic_ns()

    def progress(sent: int, finished: int, failed: int, chunks: int) -> None:
        elapsed_s = (time.monotonic_ns() - began_ns) / 1e9
        stage.listen(CellProgress(finished, failed, requests, chunks, elapsed_s, sent))

    return progress


def _ended(cell: Cell, capture: CellCapture, cache_state: str) -> Cell:
    return replace(
        cell,
        state="interrupted" if capture.cancelled else "done",
        requests=capture.tally.requests,
        failed=capture.tally.failed,
        started_ns=capture.started_ns,
        finished_ns=capture.finished_ns,
        client=capture.health,
        cache_state=cache_state,
    )


def _median_tpot_ms(capture: CellCapture) -> float | None:
    times_ns = capture.tally.tpot_ns.values
    return median(times_ns) / 1e6 if times_ns else None


def _output_tokens_per_s(capture: CellCapture) -> float | None:
    seconds = (capture.finished_ns - capture.started_ns) / 1e9
    return capture.tally.output_tokens / seconds if seconds > 0 else None

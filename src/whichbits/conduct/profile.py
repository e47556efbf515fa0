"""Profiling an arm: a short window in traffic of its own, when all that is measured in the visit is done."""

import asyncio
import math
from collections.abc import Coroutine, Sequence
from typing import Any

from whichbits.analyze.kernels.profile import Profile, write_profile
from whichbits.analyze.kernels.window import kernel_time
from whichbits.conduct.arms.addresses import targets
from whichbits.conduct.events import Notice
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import unless
from whichbits.drive.cell import CellCapture, drive_cell
from whichbits.drive.crew.leading import Progress
from whichbits.drive.routing import Route
from whichbits.errors import ServerNotReady, in_one_line
from whichbits.language.amounts import amount
from whichbits.record.profiles import keep_traces, profile_path, written_folder, written_traces
from whichbits.record.schema import Cell
from whichbits.serve.arm import RunningArm
from whichbits.serve.endpoint.profiler import ProfilerPaths, profiling
from whichbits.study.model import CellSize, Load
from whichbits.traffic.plan import PlannedRequest, plan_cell

_MARGIN_SECONDS = 5.0
"""Traffic beyond the window: profilers take seconds to start."""
_STEADY_SHARE = 0.25
"""Of a cell's requests, or one a stream, whichever is less: as many are over before the window begins."""


async def profile_arm(stage: Stage, cells: Sequence[Cell], running: RunningArm) -> None:
    """Take the windows that the study asks for at the loads of ``cells``, each once a run; no failure costs the run.

    Raises:
        Stopped: the user asked to stop.
    """
    wanted = [cell for cell in cells if _is_wanted(stage, cell)]
    if wanted and running.profiler is None:
        _say(stage, f"{running.record.arm}: not profiled: whichbits starts no server of its kind with a profiler")
        return
    for cell in wanted:
        where = f"{running.record.arm} at {Load.of(cell)}"
        stage.listen(Notice(f"{where}: profiling"))
        try:
            await unless(stage.stop, _profile(stage, cell, running, running.profiler))
        except (ServerNotReady, OSError) as failure:
            reason = in_one_line(failure) if isinstance(failure, ServerNotReady) else str(failure)
            _say(stage, f"{where}: no kernel time: {reason}")


def _is_wanted(stage: Stage, cell: Cell) -> bool:
    measured = any(each.cell == cell.cell and each.state == "done" for each in stage.writer.manifest.cells)
    path = profile_path(stage.writer.folder, cell.arm, cell.concurrency, cell.request_rate)
    return measured and Load.of(cell) in stage.study.profiled_loads and not path.exists()


async def _profile(stage: Stage, cell: Cell, running: RunningArm, paths: ProfilerPaths | None) -> None:
    if paths is None or stage.study.profile is None:
        return
    seconds = stage.study.profile.seconds
    folder, replica = stage.writer.folder, running.fleet.replicas[0]
    server_folder = written_folder(folder, cell.arm, replica.name)
    before = set(written_traces(server_folder))
    remark = await _window(stage, cell, running, paths, seconds)
    traces = [path for path in written_traces(server_folder) if path not in before]
    path = profile_path(folder, cell.arm, cell.concurrency, cell.request_rate)
    kept = await asyncio.to_thread(keep_traces, path, traces)
    found = await asyncio.to_thread(kernel_time, kept)
    notes = [note for note in (remark, None if kept else f"{server_folder} holds no trace") if note]
    named = tuple(str(each.relative_to(folder)) for each in kept)
    profile = Profile(cell.arm, cell.concurrency, cell.request_rate, replica.name, seconds, named, found, tuple(notes))
    write_profile(folder, profile)
    for note in notes:
        _say(stage, f"{cell.arm} at {Load.of(cell)}: {note}")


async def _window(stage: Stage, cell: Cell, running: RunningArm, paths: ProfilerPaths, seconds: float) -> str | None:
    """Drive traffic, and profile the first replica in its steady part; return what went wrong, if anything did."""
    planned = _traffic(stage, cell, seconds)
    if stage.study.cache == "warm":
        await _driven(stage, cell, running, planned)
    steady, enough = asyncio.Event(), asyncio.Event()
    begun = _steady_after(cell, stage)

    def progress(sent: int, finished: int, failed: int, chunks: int) -> None:  # noqa: ARG001 - drive's Protocol
        if finished >= begun:
            steady.set()

    traffic = asyncio.create_task(_driven(stage, cell, running, planned, progress, enough))
    try:
        await _either(traffic, steady.wait())
        early = traffic.done()
        if not early:
            async with profiling(running.fleet.replicas[0].control.url, paths):
                await _either(traffic, asyncio.sleep(seconds))
                early = traffic.done()
    finally:
        enough.set()
        await asyncio.wait({traffic})
    tally = traffic.result().tally
    if tally.failed:
        return f"of the profiled traffic {amount(tally.failed, 'request')} failed"
    return "the traffic ended before the window did" if early else None


async def _driven(  # noqa: PLR0913, PLR0917 - the last two are for the window only
    stage: Stage,
    cell: Cell,
    running: RunningArm,
    planned: Sequence[PlannedRequest],
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
) -> CellCapture:
    return await drive_cell(
        targets(running, stage.study.request),
        planned,
        Load.of(cell),
        stage.study.limits,
        stage.origin_ns,
        route=Route(stage.study.arms[cell.arm].balance, seed=stage.study.seed + _unused_repeat(stage)),
        progress=progress,
        stop=stop,
        crew=stage.crew,
        records="nowhere",
    )


def _traffic(stage: Stage, cell: Cell, seconds: float) -> list[PlannedRequest]:
    """Plan the load's traffic for as long as it takes, by the pace of the measured cell, with ids that no cell uses."""
    measured = next(each for each in stage.writer.manifest.cells if each.cell == cell.cell)
    requests = measured.requests or 1
    took_s = ((measured.finished_ns or 0) - (measured.started_ns or 0)) / 1e9
    rate = requests / took_s if took_s > 0 else float(requests)
    needed = 2 * _steady_after(cell, stage) + math.ceil(rate * (seconds + _MARGIN_SECONDS))
    study = stage.study.model_copy(update={"cell": CellSize(requests=max(requests, needed))})
    return list(plan_cell(study, Load.of(cell), _unused_repeat(stage)))


def _unused_repeat(stage: Stage) -> int:
    return 1 + max(cell.repeat for cell in stage.writer.manifest.cells)


def _steady_after(cell: Cell, stage: Stage) -> int:
    measured = next(each for each in stage.writer.manifest.cells if each.cell == cell.cell)
    share = math.ceil(_STEADY_SHARE * (measured.requests or 1))
    return share if cell.concurrency is None else max(1, min(share, cell.concurrency))


async def _either(traffic: "asyncio.Task[CellCapture]", other: Coroutine[Any, Any, object]) -> None:
    """Wait until the traffic or ``other`` has ended."""
    waiting = asyncio.ensure_future(other)
    try:
        await asyncio.wait({traffic, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


def _say(stage: Stage, text: str) -> None:
    """Tell, and keep, what was not told before: visits repeat."""
    if text not in stage.writer.manifest.notes:
        stage.writer.note(text)
        stage.listen(Notice(text))

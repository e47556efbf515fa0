"""Asking for quality without cells: each arm is served in turn, asked, and ended."""

from contextlib import AsyncExitStack

from whichbits.conduct.events import ArmReady, ArmStarting, Notice, StudyFinished, StudyStarted
from whichbits.conduct.quality import ask_about_quality, is_wanted
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import Stopped, unless
from whichbits.errors import ServerNotReady, in_one_line
from whichbits.serve.arm import serve_arm


async def conduct_quality(stage: Stage) -> list[ServerNotReady]:
    """Ask every arm that the run does not hold answers of; return servers that failed.

    An arm that is not what it claims ends it (ArmMismatch). What is asked is kept, whatever comes after.
    """
    arms = [arm for arm in stage.study.arms if is_wanted(stage, arm)]
    failures: list[ServerNotReady] = []
    if not arms:
        return failures
    manifest = stage.writer.manifest
    before = manifest.interrupted and any(cell.state != "done" for cell in manifest.cells)
    interrupted = False
    stage.listen(StudyStarted((), tuple(arms)))
    try:
        for arm in arms:
            try:
                await _serve_and_ask(stage, arm)
            except ServerNotReady as failure:
                failures.append(failure.about(arm))
                stage.listen(Notice(f"{arm}: {in_one_line(failure)}"))
    except Stopped:
        interrupted = True
    finally:
        stage.writer.finish(interrupted=before or interrupted)
        stage.listen(StudyFinished(interrupted))
    return failures


async def _serve_and_ask(stage: Stage, arm: str) -> None:
    study = stage.study
    stage.listen(ArmStarting(arm))
    async with AsyncExitStack() as servers:
        serving = serve_arm(arm, study.arms[arm], stage.writer.folder, study.limits)
        running = await unless(stage.stop, servers.enter_async_context(serving))
        # What is known of the servers that were timed is worth more than what is known of these.
        if arm not in stage.writer.manifest.arms:
            stage.writer.arm(running.record)
        stage.listen(ArmReady(arm, running.ready_seconds, ""))
        await ask_about_quality(stage, running)

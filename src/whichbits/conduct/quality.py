"""Asking an arm what its bits cost in answers, while its servers are up and nothing is timed."""

from collections.abc import Mapping
from pathlib import Path

from whichbits.conduct.events import Notice
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import unless
from whichbits.errors import ServerNotReady, in_one_line
from whichbits.quality.ask import Matter, ask_arm
from whichbits.quality.asked import Asked
from whichbits.quality.client import Client, Refused
from whichbits.quality.store import is_asked, write_asked
from whichbits.quality.tasks import TaskRun, insist_on_lm_eval, run_tasks
from whichbits.quality.texts import questions, texts
from whichbits.serve.arm import RunningArm
from whichbits.study.model import Study
from whichbits.study.quality import Quality


def insist_on_quality(study: Study) -> None:
    """Check what the study asks for before anything is served.

    Raises:
        BadInput: its texts are not there, or lm-eval is not installed.
    """
    if study.quality is not None:
        texts(study.quality)
        if study.quality.tasks:
            insist_on_lm_eval()


def is_wanted(stage: Stage, arm: str) -> bool:
    """Return whether the study asks for quality, and the run does not hold yet what the arm says."""
    return arm in unasked(stage.study, stage.writer.folder)


def unasked(study: Study, folder: Path) -> tuple[str, ...]:
    """Return the arms whose answers the study asks for, and the run does not hold yet."""
    return () if study.quality is None else tuple(arm for arm in study.arms if not is_asked(folder, arm))


async def ask_about_quality(stage: Stage, running: RunningArm) -> None:
    """Ask what the study wants to know, and keep it; a refusal costs the arm's quality, not the run.

    Raises:
        Stopped: the user asked to stop.
        BadInput: the study's own texts are not there.
    """
    quality, arm = stage.study.quality, running.record.arm
    if quality is None:
        return
    stage.listen(Notice(f"{arm}: asking for the quality of its answers"))
    try:
        asked = await unless(stage.stop, _ask(stage, quality, running))
        write_asked(stage.writer.folder, asked)
        for note in asked.notes:
            stage.listen(Notice(f"{arm}: {note}"))
        if quality.tasks:
            await unless(stage.stop, _tasks(stage, quality, running))
    except (Refused, ServerNotReady) as failure:
        reason = in_one_line(failure) if isinstance(failure, ServerNotReady) else str(failure)
        _say(stage, f"{arm}: its quality is not known: {reason}")


async def _ask(stage: Stage, quality: Quality, running: RunningArm) -> Asked:
    is_reference = running.record.arm == stage.study.quality_reference
    matter = Matter(quality, texts(quality), questions(), askings=2 if is_reference else 1)

    async def forget() -> None:
        if running.cache_reset_path is not None:
            for replica in running.fleet.replicas:
                await replica.control.reset_prefix_cache(running.cache_reset_path)

    async with Client(running.fleet.endpoints[0], quality.at_once) as client:
        return await ask_arm(client, running.record.arm, matter, forget)


async def _tasks(stage: Stage, quality: Quality, running: RunningArm) -> None:
    """Run lm-eval; what it says when it fails is kept as a note."""
    arm, endpoint = running.record.arm, running.fleet.endpoints[0]
    tokenizer = stage.study.arms[arm].model
    wanted = TaskRun(arm, endpoint, quality.tasks, quality.task_questions, quality.at_once, tokenizer)
    failure = await run_tasks(wanted, stage.writer.folder, _environment(running))
    if failure is not None:
        _say(stage, f"{arm}: no tasks: {failure}")


def _environment(running: RunningArm) -> Mapping[str, str]:
    key = running.fleet.endpoints[0].api_key
    return {} if key is None else {"OPENAI_API_KEY": key}


def _say(stage: Stage, text: str) -> None:
    if text not in stage.writer.manifest.notes:
        stage.writer.note(text)
        stage.listen(Notice(text))

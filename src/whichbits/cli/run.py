"""``whichbits run``: serve each arm, drive equal traffic at it, and answer."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import uvloop
from cyclopts import Parameter
from rich.console import Console

from whichbits.cli.outcome import exit_code
from whichbits.conduct.estimate import study_seconds
from whichbits.conduct.events import Progress
from whichbits.conduct.host import host_facts, tool_versions
from whichbits.conduct.order import Visit, pending, visits
from whichbits.conduct.session import Stage, conduct
from whichbits.conduct.stopping import stop_on_signals
from whichbits.errors import ArmMismatch, ServerNotReady, WhichbitsError
from whichbits.record.run import Run
from whichbits.record.schema import SCHEMA_VERSION, Manifest
from whichbits.record.writer import RunWriter
from whichbits.report.live import listener
from whichbits.report.plan import show_plan
from whichbits.report.rebuild import rebuild_reports
from whichbits.study.model import Study
from whichbits.study.read import quickstart, read_study

Switch = Annotated[bool, Parameter(negative=())]


@dataclass(frozen=True)
class Task:
    """A study, what of it is left to do, and the run to go on with, if there is one."""

    study: Study
    visits: tuple[Visit, ...]
    folder: Path | None


def run(
    study: Path | None = None,
    *,
    resume: Path | None = None,
    dry_run: Switch = False,
    output: Path | None = None,
    json: Switch = False,
    plain: Switch = False,
) -> int:
    """Serve each arm, drive equal traffic at it, and say which bits win from which load on.

    Args:
        study: A study file; without one, the quickstart. A run folder is gone on with, as by --resume.
        resume: Go on with this run folder: finished cells are kept.
        dry_run: Print the plan and its estimated time; start nothing.
        output: Folder for run folders; the study's own is used where this is not given.
        json: Print summary.json on stdout, everything else on stderr.
        plain: Print progress as plain lines, even on a terminal.
    """
    task = _task(study, resume)
    estimate_s = study_seconds(task.study, task.visits)
    if dry_run:
        show_plan(task.study, task.visits, Console(stderr=json))
        return 0
    writer = RunWriter.reopen(task.folder) if task.folder else _new_run(task.study, output)
    with listener(plain_lines=plain or None) as listen:
        ended = uvloop.run(_conduct(task, writer, listen, estimate_s))
    summary = rebuild_reports(writer.folder, json_to_stdout=json)
    if ended.mismatch is not None:
        raise ended.mismatch
    return exit_code(Run.load(writer.folder).manifest, summary, task.study, ended.failures)


@dataclass(frozen=True)
class _Ended:
    failures: tuple[ServerNotReady, ...] = ()
    mismatch: WhichbitsError | None = None


async def _conduct(task: Task, writer: RunWriter, listen: Progress, estimate_s: float) -> _Ended:
    stop = asyncio.Event()
    stage = Stage(task.study, writer, listen, stop, _origin_ns(writer.manifest))
    with stop_on_signals(stop):
        try:
            return _Ended(failures=tuple(await conduct(stage, task.visits, estimate_s)))
        except ArmMismatch as mismatch:
            return _Ended(mismatch=mismatch)


def _origin_ns(manifest: Manifest) -> int:
    """Return the monotonic time of the run's origin, for a new run as for one that goes on after a restart."""
    return time.monotonic_ns() - (time.time_ns() - manifest.origin_unix_ns)


def _task(study: Path | None, resume: Path | None) -> Task:
    folder = resume or (study if study is not None and study.is_dir() else None)
    if folder is None:
        asked = quickstart() if study is None else read_study(study)
        return Task(asked, visits(asked), None)
    manifest = Run.load(folder).manifest
    asked = Study.model_validate(manifest.study)
    done = {cell.cell for cell in manifest.cells if cell.state == "done"}
    return Task(asked, pending(visits(asked), done), folder)


def _new_run(study: Study, output: Path | None) -> RunWriter:
    now = datetime.now(UTC).astimezone()
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        source="measured",
        name=study.name,
        study=study.model_dump(mode="json"),
        created=now.isoformat(timespec="seconds"),
        origin_unix_ns=time.time_ns(),
        host=host_facts(),
        tools=tool_versions(),
        cells=tuple(cell for visit in visits(study) for cell in visit.cells),
    )
    return RunWriter.create(output or Path(study.output), manifest)

"""``whichbits run``: serve each arm, drive equal traffic at it, and answer."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import uvloop
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from whichbits.cli.folder_gone import still_there
from whichbits.cli.lang import Lang
from whichbits.cli.late_client import how_late
from whichbits.cli.manifests import print_manifests as write_manifests
from whichbits.cli.manifests import refuse_images
from whichbits.cli.outcome import REASONS, exit_code
from whichbits.cli.task import Task, read_task
from whichbits.conduct.estimate import study_estimate
from whichbits.conduct.events import Event, Notice, Progress
from whichbits.conduct.host import host_facts, tool_versions
from whichbits.conduct.open_files import insist_on_open_files, raise_open_files
from whichbits.conduct.order import Visit, visits
from whichbits.conduct.preflight import preflight
from whichbits.conduct.quality import insist_on_quality, unasked
from whichbits.conduct.quality_only import conduct_quality
from whichbits.conduct.secrets import recordable
from whichbits.conduct.session import conduct
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import stop_on_signals
from whichbits.doctor.examine import before_a_run
from whichbits.drive.crew.engage import engaged, refuse_missing_crew
from whichbits.errors import BadInput, ClientLimited, ServerNotReady, WhichbitsError
from whichbits.hardware.loopback import insist_on_host
from whichbits.language.amounts import amount
from whichbits.language.language import Language, language
from whichbits.language.phrase import phrase
from whichbits.record.run import Run
from whichbits.record.schema import SCHEMA_VERSION, Manifest, SearchRecord
from whichbits.record.sole_writer import sole_writer
from whichbits.record.writer import RunWriter
from whichbits.report.error import print_error
from whichbits.report.examination import print_diagnoses
from whichbits.report.plan.dry_run import show_plan
from whichbits.report.progress.live import listener
from whichbits.report.prometheus.endpoint import endpoint
from whichbits.report.prometheus.live_study import LiveStudy
from whichbits.report.rebuild import Show, rebuild_reports
from whichbits.report.terminal import print_summary
from whichbits.serve.engine import engine
from whichbits.study.arm import Arm
from whichbits.study.model import Study
from whichbits.study.search import budget_words
from whichbits.traffic.facts import refuse_changed
from whichbits.traffic.plan import traffic_facts

Switch = Annotated[bool, Parameter(negative=())]


def run(
    study: Path | None = None,
    *,
    resume: Path | None = None,
    dry_run: Switch = False,
    output: Path | None = None,
    json: Switch = False,
    plain: Switch = False,
    print_manifests: Switch = False,
    image: str | None = None,
    driver_image: str | None = None,
    lang: Lang = "en",
    metrics_port: int | None = None,
    metrics_host: str = "127.0.0.1",
) -> int:
    """Serve each arm, drive equal traffic at it, and say which bits win from which load on.

    Args:
        study: A study file; without one, the quickstart. A run folder is gone on with, as by --resume.
        resume: Go on with this run folder: finished cells are kept.
        dry_run: Check the arms and the machine, print the plan and its estimated time; start nothing.
        output: Folder for run folders; the study's own is used where this is not given.
        json: Print summary.json on stdout, everything else on stderr.
        plain: Print progress as plain lines, even on a terminal.
        print_manifests: Print a Kubernetes Deployment and Service for each arm, for `kubectl apply`; start nothing.
        image: Image of the Deployments of arms that name none.
        driver_image: Print a Job, too, that runs the study inside the cluster; its image has whichbits and kubectl.
        lang: Language of the reports and of what is printed; summary.json stays English.
        metrics_port: Serve the study's progress for Prometheus at this port, while it runs; 0 takes a free one.
        metrics_host: The address to serve it at; any other than this machine's own lets others in.
    """
    if print_manifests:
        return write_manifests(study, image, driver_image, language(lang))
    refuse_images(image, driver_image)
    insist_on_host(metrics_host, "--metrics-host")
    task = read_task(study, resume)
    preflight(task.arms)
    insist_on_open_files(task.study)
    refuse_missing_crew(task.study.client)
    insist_on_quality(task.study)
    print_diagnoses(before_a_run(task.study), Console(stderr=True), language(lang))
    if dry_run:
        show_plan(task.study, task.visits, Console(stderr=json), language(lang))
        if task.study.searches:
            _say(_on_the_budget(task), language(lang))
        return 0
    if task.folder is not None and not task.visits and not unasked(task.study, task.folder):
        _say(phrase("Nothing is left to do: every cell of {folder} is done.", folder=task.folder), language(lang))
        return answer(task.folder, task.study, Ended(), json=json, lang=lang)
    place = None if metrics_port is None else (metrics_host, metrics_port)
    return carry_out(task, output, json=json, plain=plain, lang=lang, metrics_at=place)


def _on_the_budget(task: Task) -> str:
    """Return what a search may spend, and whether its first sweep is likely to fit."""
    said = phrase(
        "This is the first sweep; what follows is decided then, within {budget:g} s in all, starts included.",
        budget=task.study.budget,
    )
    needed_s = study_estimate(task.study, task.visits).seconds
    if needed_s <= task.study.budget:
        return said
    return phrase(
        "{said} By the rough rule the sweep alone takes longer: `budget: {needed}` would hold it.",
        said=said,
        needed=budget_words(needed_s),
    )


def carry_out(
    task: Task,
    output: Path | None,
    *,
    json: bool,
    plain: bool,
    show: Show = print_summary,
    lang: Lang = "en",
    metrics_at: tuple[str, int] | None = None,
) -> int:
    """Serve and drive what is left of a task, write its report, ``show`` the answer, and return the exit code.

    ``metrics_at`` is the host and port at which Prometheus may scrape meanwhile.
    """
    traffic_facts(task.study)  # files that cannot be read are known before weights are fetched
    raised = raise_open_files(task.study)
    with engaged(task.study.client) as crew, ExitStack() as held, ExitStack() as shown:
        listen = shown.enter_context(listener(plain_lines=plain or None, spoken=language(lang)))
        live = LiveStudy()
        if metrics_at is not None:
            address = shown.enter_context(endpoint(*metrics_at, live.text))
            listen(Notice(f"metrics at {address}", grave=False))
            listen = _both(listen, live)
        _prepare(tuple(task.arms.values()), listen)
        writer = _writer(task, output, held)
        live.attach(writer)
        if raised is not None:
            writer.note(str(raised))
        stop = asyncio.Event()
        with stop_on_signals(stop):
            stage = Stage(task.study, writer, listen, stop, origin_ns(writer.manifest), crew)
            with still_there(writer.folder):
                ended = uvloop.run(_conduct(stage, task.visits, resumed=task.folder is not None))
                crew.close()
                shown.close()  # the lines that follow the cells are gone before the answer is printed
                Console(stderr=True).print()
                return answer(writer.folder, task.study, ended, json=json, show=show, lang=lang)


def _both(first: Progress, second: Progress) -> Progress:
    def listen(event: Event, /) -> None:
        first(event)
        second(event)

    return listen


@dataclass(frozen=True)
class Ended:
    """How the serving and driving went: the servers that failed, and what ended the study early, if anything."""

    failures: tuple[ServerNotReady, ...] = ()
    error: WhichbitsError | None = None


def _prepare(arms: Sequence[Arm], listen: Progress) -> None:
    """Fetch or make all weights first: what cannot be had is known before anything is measured."""
    listen(Notice("preparing weights", grave=False))
    for arm in arms:
        engine(arm.engine).prepare(arm)


async def _conduct(stage: Stage, left: Sequence[Visit], *, resumed: bool) -> Ended:
    try:
        failures = await conduct(stage, left, study_estimate(stage.study, left)) if left else []
        if (resumed or stage.study.searches) and not stage.stop.is_set():
            # Arms whose cells were done before are not visited again, and a search's budget is not for questions.
            failures += await conduct_quality(stage)
        return Ended(failures=tuple(failures))
    except WhichbitsError as error:
        return Ended(error=error)


def answer(
    folder: Path, study: Study, ended: Ended, *, json: bool, show: Show = print_summary, lang: Lang = "en"
) -> int:
    """Write the report, print the answer and then what went wrong, and return the exit code."""
    summary = rebuild_reports(folder, json_to_stdout=json, show=show, lang=lang)
    if ended.error is not None:
        raise ended.error
    for failure in ended.failures:
        print_error(failure, Console(stderr=True), language(lang))
    code = exit_code(Run.load(folder).manifest, summary, study, ended.failures)
    if code in REASONS:
        _say(phrase("exit code {code}: {reason}", code=code, reason=REASONS[code]), language(lang))
    if code == ClientLimited.exit_code:
        _say(how_late(summary, study), language(lang))
    return code


def origin_ns(manifest: Manifest) -> int:
    """Return the monotonic time of the run's origin, for a new run as for one that goes on after a restart.

    Time never falls behind a cell that has ended, even if the wall clock was set back.
    """
    elapsed_ns = time.time_ns() - manifest.origin_unix_ns
    ended_ns = max((cell.finished_ns or 0 for cell in manifest.cells), default=0)
    return time.monotonic_ns() - max(elapsed_ns, ended_ns)


def _writer(task: Task, output: Path | None, held: ExitStack) -> RunWriter:
    if task.folder is not None:
        held.enter_context(sole_writer(task.folder))
        writer = RunWriter.reopen(task.folder)
        refuse_changed(writer.manifest.traffic, traffic_facts(task.study))
        left = sum(len(visit.cells) for visit in task.visits)
        writer.note(f"resumed {_now()}" + ("" if task.study.searches else f" with {amount(left, 'cell')} left"))
        return writer
    writer = new_writer(new_manifest(task.study), output or Path(task.study.output))
    held.enter_context(sole_writer(writer.folder))
    return writer


def new_writer(manifest: Manifest, parent: Path) -> RunWriter:
    """Make a run folder.

    Raises:
        BadInput: ``output_unwritable``.
    """
    try:
        return RunWriter.create(parent, manifest)
    except OSError as error:
        raise BadInput(
            "output_unwritable",
            f"no run folder can be made in {parent}: {error.strerror}",
            why="the folder is read-only, full, a file, or belongs to somebody else",
            fix="name another folder with --output",
        ) from error


def new_manifest(study: Study) -> Manifest:
    """Return the manifest of a run that begins now."""
    return Manifest(
        schema_version=SCHEMA_VERSION,
        source="measured",
        name=study.name,
        study=recordable(study),
        created=_now(),
        origin_unix_ns=time.time_ns(),
        host=host_facts(),
        tools=tool_versions(),
        traffic=traffic_facts(study),
        cells=() if study.searches else tuple(cell for visit in visits(study) for cell in visit.cells),
        search=SearchRecord() if study.searches else None,
    )


def _now() -> str:
    return datetime.now(UTC).astimezone().isoformat(timespec="seconds")


def _say(text: str, spoken: Language) -> None:
    Console(stderr=True).print(Text(spoken.say(text)), soft_wrap=True)

"""``whichbits quality``: what each arm's bits cost in answers, without measuring speed."""

import asyncio
import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import uvloop
from cyclopts import Parameter
from pydantic import ValidationError

from whichbits.cli.lang import Lang
from whichbits.cli.run import Ended, answer, new_manifest, new_writer, origin_ns
from whichbits.cli.task import recorded_study
from whichbits.conduct.preflight import preflight
from whichbits.conduct.quality import insist_on_quality
from whichbits.conduct.quality_only import conduct_quality
from whichbits.conduct.secrets import with_secrets
from whichbits.conduct.stage import Stage
from whichbits.conduct.stopping import stop_on_signals
from whichbits.drive.crew.engage import engaged, refuse_missing_crew
from whichbits.errors import BadInput, WhichbitsError
from whichbits.language.language import language
from whichbits.record.run import Run
from whichbits.record.sole_writer import sole_writer
from whichbits.record.writer import RunWriter
from whichbits.report.progress.live import listener
from whichbits.serve.engine import engine
from whichbits.study.model import Study
from whichbits.study.read import read_study

Switch = Annotated[bool, Parameter(negative=())]


def quality(
    study: Path, *, output: Path | None = None, json: Switch = False, plain: Switch = False, lang: Lang = "en"
) -> int:
    """Ask each arm for log-probabilities of texts and for free answers, and hold them against a 16-bit arm.

    Args:
        study: A study file, whose cells are left out; or a run folder, whose missing answers are added.
        output: Folder for run folders; the study's own is used where this is not given.
        json: Print summary.json on stdout, everything else on stderr.
        plain: Print progress as plain lines, even on a terminal.
        lang: Language of the reports and of what is printed; summary.json stays English.
    """
    asked = _with_quality(_study_of(study))
    preflight(asked.arms)
    refuse_missing_crew(asked.client)
    insist_on_quality(asked)
    with ExitStack() as held, listener(plain_lines=plain or None, spoken=language(lang)) as listen:
        for arm in asked.arms.values():
            engine(arm.engine).prepare(arm)
        if study.is_dir():
            held.enter_context(sole_writer(study))
        writer = _writer(study, asked, output)
        stop = asyncio.Event()
        with stop_on_signals(stop):
            with engaged(asked.client) as crew:
                ended = uvloop.run(_conduct(Stage(asked, writer, listen, stop, origin_ns(writer.manifest), crew)))
            return answer(writer.folder, asked, ended, json=json, lang=lang)


def _study_of(path: Path) -> Study:
    if not path.is_dir():
        return read_study(path)
    return with_secrets(recorded_study(path, Run.load(path).manifest), os.environ)


def _with_quality(study: Study) -> Study:
    """Return the study with the default questions where it asks none."""
    if study.quality is not None:
        return study
    try:
        return Study.model_validate(study.model_dump(by_alias=True) | {"quality": True})
    except ValidationError as error:
        raise BadInput(
            "quality_no_reference",
            error.errors()[0]["msg"],
            why="quality is a distance to a reference, by default the first arm of 16 bits",
            fix="add `quality: {reference: ARM}` to the study",
        ) from error


def _writer(path: Path, study: Study, output: Path | None) -> RunWriter:
    """Go on with a run folder, whether it was cut short or not, or start one without cells."""
    if not path.is_dir():
        return new_writer(replace(new_manifest(study), cells=(), search=None), output or Path(study.output))
    interrupted = Run.load(path).manifest.interrupted
    writer = RunWriter.reopen(path)
    writer.manifest = replace(writer.manifest, interrupted=interrupted)
    return writer


async def _conduct(stage: Stage) -> Ended:
    try:
        return Ended(failures=tuple(await conduct_quality(stage)))
    except WhichbitsError as error:
        return Ended(error=error)

"""What ``whichbits run`` is asked to do: a study anew, or what is left of a run."""

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from whichbits.conduct.order import Visit, pending, visits
from whichbits.conduct.secrets import with_secrets
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.record.schema import Manifest
from whichbits.record.sole_writer import refuse_in_use
from whichbits.serve.engine import engine
from whichbits.serve.sleep import refuse_sleepless
from whichbits.study.arm import Arm
from whichbits.study.model import Study
from whichbits.study.read import quickstart, read_study


@dataclass(frozen=True)
class Task:
    """A study, what of it is left to do, and the run to go on with, if there is one.

    Of a study that decides its cells while it runs, ``visits`` are its first sweep: what the arms are known by.
    """

    study: Study
    visits: tuple[Visit, ...]
    folder: Path | None

    @property
    def arms(self) -> dict[str, Arm]:
        """The arms that are still to be served, by name."""
        return {name: self.study.arms[name] for visit in self.visits for name in visit.arms}


def read_task(study: Path | None, resume: Path | None) -> Task:
    """Return the task that ``whichbits run`` names; ``study`` may be a run folder to go on with.

    Raises:
        BadInput: the study or the run cannot be used, or names an engine that is not there.
    """
    task = _named_task(study, resume)
    for arm in task.arms.values():
        engine(arm.engine)
    if task.study.arms_together == "sleep":
        for name, arm in task.study.arms.items():
            refuse_sleepless(name, arm)
    return task


def _named_task(study: Path | None, resume: Path | None) -> Task:
    if resume is not None:
        if study is not None:
            raise _two_tasks(study, resume)
        return _rest_of(resume)
    if study is None:
        return _anew(quickstart())
    return _rest_of(study) if study.is_dir() else _anew(read_study(study))


def _anew(study: Study) -> Task:
    return Task(study, visits(study), None)


def _rest_of(folder: Path) -> Task:
    refuse_in_use(folder)
    manifest = Run.load(folder).manifest
    study = with_secrets(recorded_study(folder, manifest), os.environ)
    if study.searches:
        ended = manifest.search is not None and manifest.search.ended is not None
        return Task(study, () if ended else visits(study), folder)
    done = {cell.cell for cell in manifest.cells if cell.state == "done"}
    return Task(study, pending(visits(study), done), folder)


def recorded_study(folder: Path, manifest: Manifest) -> Study:
    """Return the study that a run recorded. Raises BadInput ``run_not_resumable`` if it holds none."""
    try:
        return Study.model_validate(manifest.study)
    except ValidationError as error:
        raise BadInput(
            "run_not_resumable",
            f"{folder} holds no study to go on with: {error.errors()[0]['msg']}",
            why="its run.json was edited, or the run was not made by `whichbits run`",
            fix="run the study file anew",
        ) from error


def _two_tasks(study: Path, resume: Path) -> BadInput:
    return BadInput(
        "two_tasks",
        f"both a study ({study}) and a run to resume ({resume}) are named",
        why="a run is gone on with by the study that it was started with",
        fix=f"whichbits run --resume {resume}",
    )

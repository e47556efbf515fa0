"""The examination: every check in order; one that breaks says so and keeps no other from speaking."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from whichbits.doctor.arms import check_arms, check_targets, paths_of
from whichbits.doctor.bench import check_bench, check_commands
from whichbits.doctor.builds import check_cuda_builds, check_imports
from whichbits.doctor.cards import check_cards
from whichbits.doctor.checkpoints import check_fetching, check_files
from whichbits.doctor.diagnosis import PATIENCE_S, Check, Diagnosis, Patient, unknown
from whichbits.doctor.gpus import check_gpus
from whichbits.doctor.interpreter import Interpreter, ask_interpreter
from whichbits.doctor.limits import check_limits
from whichbits.doctor.machine import busy_now, check_machine
from whichbits.doctor.packages import check_python, check_release, check_requirements
from whichbits.doctor.together import check_together
from whichbits.errors import BadInput, WhichbitsError
from whichbits.hardware.answering import Patience
from whichbits.hardware.gpu_states import Cards, look_at_cards
from whichbits.study.model import Study

_BEFORE_A_RUN_S = 60.0
"""For all interpreters that a run asks before it starts."""


def examine(
    study: Study | None, pythons: Sequence[str] = (), commands: Path | None = None, *, imports: bool = True
) -> list[Diagnosis]:
    """Examine this machine, the interpreters and the study.

    Interpreters are those named, or else those of the study's arms, or else this one; ``imports`` imports torch in
    each.

    Raises:
        BadInput: one of ``pythons`` does not run, or ``commands`` cannot be read.
    """
    patience, silent = Patience(PATIENCE_S), dict[str, BadInput]()
    if study is None or pythons:
        interpreters = tuple(ask_interpreter(python, patience=patience) for python in pythons or (None,))
    else:
        interpreters, silent = _interpreters(study, patience)
    patient = Patient(interpreters, study, look_at_cards(), silent, patience)
    checks: list[Check] = [check_python, check_release, check_requirements, check_cuda_builds]
    checks += [check_imports] if imports else []
    checks += [check_bench]
    checks += [] if commands is None else [partial(check_commands, commands)]
    checks += [check_gpus, check_machine, check_limits, check_targets, check_arms]
    checks += [check_files, check_fetching, check_cards, check_together]
    return [said for check in checks for said in _said_by(check, patient)]


def before_a_run(study: Study) -> list[Diagnosis]:
    """Return what a run says before it starts: problems found without network or imports, and a busy machine."""
    interpreters, silent = _interpreters(study, Patience(_BEFORE_A_RUN_S))
    patient = Patient(interpreters, study, look_at_cards() if interpreters else Cards(), silent)
    checks: list[Check] = [check_machine, check_limits, check_files]
    checks += [check_requirements, check_cuda_builds, check_gpus, check_cards, check_together] if interpreters else []
    said = (each for check in checks for each in _said_by(check, patient))
    return [*(each for each in said if each.state == "problem"), *_said_by(_check_now, patient)]


def _check_now(_: Patient) -> Iterator[Diagnosis]:
    yield from busy_now()


def _interpreters(study: Study, patience: Patience) -> tuple[tuple[Interpreter, ...], dict[str, BadInput]]:
    """Return those that answer, and those that hang with the error that says so.

    One that does not run is said with its arms, and keeps nothing else from being examined.
    """
    found, silent = [], {}
    for python, arms in paths_of(study).items():
        try:
            found.append(ask_interpreter(python, arms, patience))
        except BadInput as refused:
            if refused.code == "python_silent":
                silent[str(Path(python or sys.executable))] = refused
    return tuple(found), silent


def _said_by(check: Check, patient: Patient) -> Iterator[Diagnosis]:
    try:
        yield from check(patient)
    except WhichbitsError:
        raise
    except Exception as error:  # noqa: BLE001 - a machine can be strange in ways that nobody foresaw
        name = getattr(check, "__name__", "check_commands").removeprefix("check_")
        yield unknown("check_broke", name, f"this could not be examined: {type(error).__name__}: {error}")

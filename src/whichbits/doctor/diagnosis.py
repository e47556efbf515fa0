"""What an examination says: one statement about one thing, with its remedy."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from whichbits.doctor.interpreter import Interpreter
from whichbits.errors import BadInput
from whichbits.hardware.answering import Patience
from whichbits.hardware.gpu_states import Cards, GpuState
from whichbits.study.arm import Arm
from whichbits.study.model import Study

PATIENCE_S = 240.0
"""For all interpreters that an examination asks and lets import: those that hang take no longer together."""

State = Literal["good", "note", "problem", "unknown"]


@dataclass(frozen=True)
class Diagnosis:
    """A statement about ``subject``.

    A ``problem`` keeps a study from running, or makes it lie; a ``note`` is worth knowing; ``unknown`` is what could
    not be examined. Only problems and notes have a ``why`` and a ``fix``.
    """

    code: str
    state: State
    subject: str
    found: str
    why: str | None = None
    fix: str | None = None


@dataclass(frozen=True)
class Patient:
    """What is examined: interpreters by the arms that use them, the study, if one was named, and the machine's cards.

    Cards are asked once, so that all checks speak of the same moment. ``silent`` are interpreters that hang, each with
    the error that says so: nobody asks them again. ``patience`` is for all programs that are still asked.
    """

    interpreters: tuple[Interpreter, ...]
    study: Study | None
    cards: Cards = field(default_factory=Cards)
    silent: Mapping[str, BadInput] = field(default_factory=dict)
    patience: Patience = field(default_factory=lambda: Patience(PATIENCE_S))

    @property
    def gpus(self) -> tuple[GpuState, ...]:
        """The cards that are known to be here."""
        return self.cards.states

    def interpreter_of(self, arm: Arm) -> Interpreter | None:
        """Return the interpreter that starts the arm's servers; None if none of those examined does."""
        path = str(Path(arm.python or sys.executable))
        return next((each for each in self.interpreters if each.path == path), None)

    def version_for(self, arm: Arm) -> str | None:
        """Return the version of vLLM that would serve the arm: what is installed, or else what the study names."""
        interpreter = self.interpreter_of(arm)
        if interpreter is not None and interpreter.engine is not None:
            return interpreter.engine.version
        return None if self.study is None else self.study.engine_version


Check = Callable[[Patient], Iterable[Diagnosis]]


def good(code: str, subject: str, found: str) -> Diagnosis:
    """Return the statement that all is well."""
    return Diagnosis(code, "good", subject, found)


def unknown(code: str, subject: str, found: str) -> Diagnosis:
    """Return the statement that this could not be examined."""
    return Diagnosis(code, "unknown", subject, found)

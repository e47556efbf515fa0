"""What an examination says: one statement about one thing, with its remedy."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from whichbits.doctor.interpreter import Interpreter
from whichbits.study.model import Study

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


class Patient(NamedTuple):
    """What is examined: interpreters by the arms that use them, and the study, if one was named."""

    interpreters: tuple[Interpreter, ...]
    study: Study | None


Check = Callable[[Patient], Iterable[Diagnosis]]


def good(code: str, subject: str, found: str) -> Diagnosis:
    """Return the statement that all is well."""
    return Diagnosis(code, "good", subject, found)


def unknown(code: str, subject: str, found: str) -> Diagnosis:
    """Return the statement that this could not be examined."""
    return Diagnosis(code, "unknown", subject, found)

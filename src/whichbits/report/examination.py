"""What the doctor said, as text for a terminal and as one JSON object."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from whichbits.doctor.diagnosis import Diagnosis, State
from whichbits.language.amounts import amount
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import phrase
from whichbits.language.recognition import tell
from whichbits.report.lines import lines, padded
from whichbits.report.wording import plain

_MARKS: dict[State, tuple[str, str]] = {
    "problem": (phrase("problem"), "bold red"),
    "note": (phrase("note"), "yellow"),
    "unknown": ("?", "dim"),
    "good": (phrase("ok"), "green"),
}
_INDENT = 9


def print_examination(said: Sequence[Diagnosis], console: Console, spoken: Language = ENGLISH) -> None:
    """Print the worst first, each with its remedy, and how many there are: what several subjects share is one."""
    print_diagnoses(said, console, spoken)
    problems, notes = (len(_alike(each for each in said if each.state == state)) for state in ("problem", "note"))
    counted = phrase("{problems}, {notes}", problems=_problems(problems), notes=_notes(notes))
    console.print(Text(spoken.say(counted), style="bold"))


def print_diagnoses(said: Sequence[Diagnosis], console: Console, spoken: Language = ENGLISH) -> None:
    """Print the worst first; what several subjects share is said once."""
    for state in _MARKS:
        for alike in _alike(each for each in said if each.state == state):
            _print_alike(alike, console, spoken)
        if state in ("unknown", "good") and any(each.state == state for each in said):
            console.print()


def _alike(said: Iterable[Diagnosis]) -> list[list[Diagnosis]]:
    """Put together what has the same code, reason and remedy, in the order of its first."""
    found: dict[object, list[Diagnosis]] = {}
    for position, each in enumerate(said):
        key = (each.code, each.why, each.fix) if each.fix is not None else position
        found.setdefault(key, []).append(each)
    return list(found.values())


def examination_json(said: Sequence[Diagnosis]) -> str:
    """Return all statements as JSON."""
    counts = {state: sum(each.state == state for each in said) for state in _MARKS}
    return json.dumps({"schema_version": 1, "counts": counts, "diagnoses": [asdict(each) for each in said]}, indent=2)


def _print_alike(alike: Sequence[Diagnosis], console: Console, spoken: Language) -> None:
    mark, style = _MARKS[alike[0].state]
    for label, each in zip((spoken.say(mark), *[""] * len(alike)), alike, strict=False):
        _print_part(label, style, f"{tell(each.subject, spoken)}: {tell(each.found, spoken)}", console)
    if alike[0].state not in ("problem", "note"):
        return
    for label, text in ((phrase("why"), alike[0].why), (phrase("do"), alike[0].fix)):
        if text is not None:
            _print_part(spoken.say(label), "dim", tell(text, spoken), console)
    _print_part(spoken.say(phrase("code")), "dim", alike[0].code, console)
    console.print()


def _print_part(label: str, style: str, text: str, console: Console) -> None:
    first, *others = lines(plain(text), console.width - _INDENT)
    console.print(Text.assemble((padded(label, _INDENT), style), first), soft_wrap=True)
    for line in others:
        console.print(Text(" " * _INDENT + line), soft_wrap=True)


def _problems(number: int) -> str:
    if number == 0:
        return phrase("no problems")
    return amount(number, "problem")


def _notes(number: int) -> str:
    if number == 0:
        return phrase("no notes")
    return amount(number, "note")

"""What the doctor said, as text for a terminal and as one JSON object."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from whichbits.doctor.diagnosis import Diagnosis, State
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import phrase
from whichbits.language.recognition import tell
from whichbits.report.lines import lines, padded
from whichbits.report.wording import plain

_MARKS: dict[State, tuple[str, str]] = {
    "good": (phrase("ok"), "green"),
    "note": (phrase("note"), "yellow"),
    "problem": (phrase("problem"), "bold red"),
    "unknown": ("?", "dim"),
}
_INDENT = 9


def print_examination(said: Sequence[Diagnosis], console: Console, spoken: Language = ENGLISH) -> None:
    """Print problems last, next to the prompt, where they are seen; each with its remedy."""
    order: tuple[State, ...] = ("good", "unknown", "note", "problem")
    for state in order:
        for diagnosis in said:
            if diagnosis.state == state:
                _print_one(diagnosis, console, spoken)
    problems, notes = (sum(each.state == state for each in said) for state in ("problem", "note"))
    counted = phrase("{problems}, {notes}", problems=_problems(problems), notes=_notes(notes))
    console.print(Text(f"\n{spoken.say(counted)}", style="bold"))


def examination_json(said: Sequence[Diagnosis]) -> str:
    """Return all statements as JSON."""
    counts = {state: sum(each.state == state for each in said) for state in _MARKS}
    return json.dumps({"schema_version": 1, "counts": counts, "diagnoses": [asdict(each) for each in said]}, indent=2)


def _print_one(diagnosis: Diagnosis, console: Console, spoken: Language) -> None:
    mark, style = _MARKS[diagnosis.state]
    _print_part(spoken.say(mark), style, f"{tell(diagnosis.subject, spoken)}: {tell(diagnosis.found, spoken)}", console)
    for label, text in ((phrase("why"), diagnosis.why), (phrase("do"), diagnosis.fix)):
        if text is not None:
            _print_part(spoken.say(label), "dim", tell(text, spoken), console)
    if diagnosis.state in ("problem", "note"):
        _print_part(spoken.say(phrase("code")), "dim", diagnosis.code, console)


def _print_part(label: str, style: str, text: str, console: Console) -> None:
    first, *others = lines(plain(text), console.width - _INDENT)
    console.print(Text.assemble((padded(label, _INDENT), style), first), soft_wrap=True)
    for line in others:
        console.print(Text(" " * _INDENT + line), soft_wrap=True)


def _problems(number: int) -> str:
    if number == 0:
        return phrase("no problems")
    return phrase("1 problem") if number == 1 else phrase("{number} problems", number=number)


def _notes(number: int) -> str:
    if number == 0:
        return phrase("no notes")
    return phrase("1 note") if number == 1 else phrase("{number} notes", number=number)

"""What the doctor said, as text for a terminal and as one JSON object."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from whichbits.doctor.diagnosis import Diagnosis, State
from whichbits.report.wording import plain

_MARKS: dict[State, tuple[str, str]] = {
    "problem": ("problem", "bold red"),
    "note": ("note", "yellow"),
    "unknown": ("?", "dim"),
    "good": ("ok", "green"),
}
_INDENT = 9


def print_examination(said: Sequence[Diagnosis], console: Console) -> None:
    """Print the worst first, each with its remedy, and how many there are."""
    print_diagnoses(said, console)
    problems, notes = (sum(each.state == state for each in said) for state in ("problem", "note"))
    console.print(Text(f"{_counted(problems, 'problem')}, {_counted(notes, 'note')}", style="bold"))


def print_diagnoses(said: Sequence[Diagnosis], console: Console) -> None:
    """Print the worst first; what several subjects share is said once."""
    for state in _MARKS:
        for alike in _alike(each for each in said if each.state == state):
            _print_alike(alike, console)
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


def _print_alike(alike: Sequence[Diagnosis], console: Console) -> None:
    mark, style = _MARKS[alike[0].state]
    for label, diagnosis in zip((mark, *[""] * len(alike)), alike, strict=False):
        _print_part(label, style, f"{diagnosis.subject}: {diagnosis.found}", console)
    if alike[0].state not in ("problem", "note"):
        return
    for label, text in (("why", alike[0].why), ("do", alike[0].fix), ("code", alike[0].code)):
        if text is not None:
            _print_part(label, "dim", text, console)
    console.print()


def _print_part(label: str, style: str, text: str, console: Console) -> None:
    width = max(console.width - _INDENT, 20)
    lines = textwrap.wrap(plain(text), width, break_long_words=False, break_on_hyphens=False) or [""]
    console.print(Text.assemble((f"{label:<{_INDENT}}", style), lines[0]), soft_wrap=True)
    for line in lines[1:]:
        console.print(Text(" " * _INDENT + line), soft_wrap=True)


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"

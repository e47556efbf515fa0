"""What the doctor said, as text for a terminal and as one JSON object."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from whichbits.doctor.diagnosis import Diagnosis, State
from whichbits.report.wording import plain

_MARKS: dict[State, tuple[str, str]] = {
    "good": ("ok", "green"),
    "note": ("note", "yellow"),
    "problem": ("problem", "bold red"),
    "unknown": ("?", "dim"),
}
_INDENT = 9


def print_examination(said: Sequence[Diagnosis], console: Console) -> None:
    """Print problems last, next to the prompt, where they are seen; each with its remedy."""
    order: tuple[State, ...] = ("good", "unknown", "note", "problem")
    for state in order:
        for diagnosis in said:
            if diagnosis.state == state:
                _print_one(diagnosis, console)
    problems, notes = (sum(each.state == state for each in said) for state in ("problem", "note"))
    console.print(Text(f"\n{_counted(problems, 'problem')}, {_counted(notes, 'note')}", style="bold"))


def examination_json(said: Sequence[Diagnosis]) -> str:
    """Return all statements as JSON."""
    counts = {state: sum(each.state == state for each in said) for state in _MARKS}
    return json.dumps({"schema_version": 1, "counts": counts, "diagnoses": [asdict(each) for each in said]}, indent=2)


def _print_one(diagnosis: Diagnosis, console: Console) -> None:
    mark, style = _MARKS[diagnosis.state]
    _print_part(mark, style, f"{diagnosis.subject}: {diagnosis.found}", console)
    for label, text in (("why", diagnosis.why), ("do", diagnosis.fix)):
        if text is not None:
            _print_part(label, "dim", text, console)
    if diagnosis.state in ("problem", "note"):
        _print_part("code", "dim", diagnosis.code, console)


def _print_part(label: str, style: str, text: str, console: Console) -> None:
    width = max(console.width - _INDENT, 20)
    lines = textwrap.wrap(plain(text), width, break_long_words=False, break_on_hyphens=False) or [""]
    console.print(Text.assemble((f"{label:<{_INDENT}}", style), lines[0]), soft_wrap=True)
    for line in lines[1:]:
        console.print(Text(" " * _INDENT + line), soft_wrap=True)


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"

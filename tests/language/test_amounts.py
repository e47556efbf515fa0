"""One is said as one, in every text that counts; Korean counts the same in both."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from tests.language.phrases_in_source import SOURCE, templates
from whichbits.language.amounts import Noun, amount, amount_said
from whichbits.language.language import language
from whichbits.language.recognition import recognise

NOUNS: tuple[Noun, ...] = get_args(Noun)
PLURALS = sorted({amount(2, noun).rsplit(" ", 1)[1] for noun in NOUNS} | {"pairs", "runs", "bytes", "files"})
COUNTED = re.compile(
    rf"\{{(?!\w*share)[^{{}}]*\}}(?: more| other| content| concurrent| prompt| output| open)? (?:{'|'.join(PLURALS)})\b(?!/)"
)
NEVER_ONE = {
    # Said only where there are two or more.
    " ({more} more repeats)",
    " ({repeats} repeats)",
    "{most} more repeats of the study",
    ", as wide as those of all repeats together; points are medians of {repeats} repeats",
    "{part} of {of} repeats of {loads} left out: {why}",
    "{unused} of {count} repeats not used ({why})",
    "± half the range of the {repeats} repeats; the number is their median",
    "medians of {repeats} repeats, ± half their range from half a percent on",
    "{noisy} of {count} pairs too noisy",
    "{count} loads from {first} to {last}",
    "none of {sent:,} requests failed",
    "all {total:,} requests, in the order of their sends.",
    "{shown} of {total:,} requests shown, in the order of their sends: {chosen}. Slow and failed ones are more frequent "
    "here than in the cell.",
    "1 of {total} pairs of arms trades places",
    "{count} of {total} pairs of arms trade places",
    "1 of {total} pairs of arms is too noisy",
    "{count} of {total} pairs of arms are too noisy",
    "all {total} cells",
}


def written() -> dict[str, str]:
    """Return every text with fields in the source, with its place."""
    found = templates() | {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found[_written(node)] = f"{path}:{node.lineno}"
    return {text: place for text, place in found.items() if not place.endswith("language/amounts.py")}


def _written(node: ast.JoinedStr) -> str:
    return "".join(
        part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"  # type: ignore[attr-defined]
        for part in node.values
    )


def test_no_text_counts_by_itself_what_may_be_one() -> None:
    found = {text: place for text, place in written().items() if COUNTED.search(text) and text not in NEVER_ONE}

    assert not found

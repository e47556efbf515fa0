"""Markdown as GitHub reads it: text that means nothing to it, tables, and fenced text."""

import html
import re
from collections.abc import Iterable, Sequence

from whichbits.language.amounts import amount
from whichbits.language.language import Say
from whichbits.language.phrase import phrase
from whichbits.report.wording import plain

_STEERING = re.compile(r"([\\`*_\[\]|#~])")
_CODE = re.compile(r"(`[\w.:=/ -]+`)")
"""What stands between backticks, if nothing in it could mean anything to Markdown or HTML."""


def escaped(text: str) -> str:
    """Return text that GitHub's Markdown shows as it is, on one line, inside a table or not."""
    parts = _CODE.split(" ".join(plain(text).split()))
    return "".join(part if place % 2 else _harmless(part) for place, part in enumerate(parts))


def _harmless(text: str) -> str:
    return _STEERING.sub(r"\\\1", html.escape(text, quote=False))


def cut(block: str, most_rows: int, say: Say) -> str:
    """Return a table, or a fenced text, of so many rows at most, and how many are left out."""
    lines = block.split("\n")
    fence = lines[0].rstrip("shyaml") if block.startswith("```") else ""
    if not block.startswith(("| ", "```")) or len(lines) - 2 <= most_rows:
        return block
    rows = amount(len(lines) - 2 - most_rows, "row")
    left = say(phrase("Left out here: {rows}; see `report.html` or `summary.json`.", rows=rows))
    return "\n".join([*lines[: 2 + most_rows], *([fence] if fence else []), "", left])


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: range = range(0)) -> str:
    rule = ["---:" if place in numbers else "---" for place in range(len(headings))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rule, *rows))


def strong(text: str, *, strong: bool) -> str:
    return f"**{text}**" if strong else text


def fenced(language: str, text: str) -> str:
    """Fence with more backticks than any run of them inside, so that the text cannot end it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain(text).rstrip()}\n{fence}"

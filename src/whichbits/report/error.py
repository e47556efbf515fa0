"""An error as a person reads it: what happened, why it usually does, what to do, and its code."""

import textwrap

from rich.console import Console
from rich.text import Text

from whichbits.errors import WhichbitsError
from whichbits.report.wording import plain

_INDENT = 7


def print_error(error: WhichbitsError, console: Console) -> None:
    """Print the error's parts, each under a label, wrapped to the console; give a console on stderr.

    A word longer than a line, such as a path, runs over it: whoever copies it gets it whole.
    """
    parts = (
        ("error", "bold red", error.what, "bold"),
        ("why", "dim", error.why, ""),
        ("do", "dim", error.fix, ""),
        ("code", "dim", error.code, "dim"),
    )
    for name, style, text, text_style in parts:
        first, *others = _lines(plain(text), console.width - _INDENT)
        console.print(Text.assemble((f"{name:<{_INDENT}}", style), (first, text_style)), soft_wrap=True)
        for line in others:
            console.print(Text(" " * _INDENT + line, style=text_style), soft_wrap=True)


def _lines(text: str, width: int) -> list[str]:
    wrapped = [
        line
        for paragraph in text.splitlines()
        for line in textwrap.wrap(paragraph, max(width, 20), break_long_words=False, break_on_hyphens=False)
    ]
    return wrapped or [""]

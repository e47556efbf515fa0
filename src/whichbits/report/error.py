"""An error as a person reads it: what happened, why it usually does, what to do, and its code."""

from rich.console import Console
from rich.text import Text

from whichbits.errors import WhichbitsError
from whichbits.language.language import ENGLISH, Language
from whichbits.language.phrase import phrase
from whichbits.language.recognition import tell
from whichbits.report.lines import lines, padded
from whichbits.report.wording import plain

_INDENT = 7


def print_error(error: WhichbitsError, console: Console, spoken: Language = ENGLISH) -> None:
    """Print the error's parts, each under a label, wrapped to the console; give a console on stderr.

    A word longer than a line, such as a path, runs over it: whoever copies it gets it whole.
    """
    parts = (
        (phrase("error"), "bold red", tell(error.what, spoken), "bold"),
        (phrase("why"), "dim", tell(error.why, spoken), ""),
        (phrase("do"), "dim", tell(error.fix, spoken), ""),
        (phrase("code"), "dim", error.code, "dim"),
    )
    for name, style, text, text_style in parts:
        first, *others = lines(plain(text), console.width - _INDENT)
        label = padded(spoken.say(name), _INDENT)
        console.print(Text.assemble((label, style), (first, text_style)), soft_wrap=True)
        for line in others:
            console.print(Text(" " * _INDENT + line, style=text_style), soft_wrap=True)

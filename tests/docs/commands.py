"""The commands that the pages show, as the shell would split them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tests.docs.pages import DOCS, ROOT

PAGES = [*sorted(DOCS.glob("*.md")), *(ROOT / name for name in ("README.md", "README.ko.md", "CONTRIBUTING.md"))]

_FENCE = re.compile(r"^(?: *)```(?:sh|bash|console|yaml|)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^ {4,}(?:- run: |run: |\$ )?(whichbits .*)$", re.MULTILINE)
_LINE = re.compile(r"^\s*(?:- run: |run: |\$ |# +)?(whichbits .*)$", re.MULTILINE)
_INLINE = re.compile(r"`(whichbits\s[^`]+)`")


@dataclass(frozen=True)
class Command:
    """One call of whichbits on a page."""

    page: str
    line: str

    @property
    def words(self) -> list[str]:
        """What follows ``whichbits``, up to a pipe, a redirection or a comment."""
        words = shlex.split(self.line, comments=True)[1:]
        ends = [place for place, word in enumerate(words) if word in {"|", ">", ">>", "&&", "&", ";", "||", "2>"}]
        return words[: ends[0]] if ends else words

    @property
    def is_usage(self) -> bool:
        """Whether it shows how a command is called, rather than a call."""
        return any(word.startswith("[") for word in self.words)


def commands() -> Iterator[Command]:
    """Yield each command of each page, those of indented and of fenced blocks."""
    for path in PAGES:
        text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))
        lines = [line for block in _FENCE.findall(text) for line in _LINE.findall(block)]
        for line in dict.fromkeys([*lines, *_INDENTED.findall(text)]):
            yield Command(path.name, line)


def mentions() -> Iterator[tuple[str, str]]:
    """Yield page and text of each command that stands within a sentence; placeholders may stand in it."""
    for path in PAGES:
        for text in _INLINE.findall(path.read_text(encoding="utf-8")):
            yield path.name, " ".join(text.split())

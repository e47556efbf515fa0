"""The texts and questions that arms are asked: those shipped with whichbits, or a folder of the user's own."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from whichbits.errors import BadInput
from whichbits.study.quality import Quality

_NAME = re.compile(r"^%%[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_QUESTIONS = "questions"


@dataclass(frozen=True)
class Text:
    """One text; ``name`` is unique among all domains."""

    name: str
    domain: str
    content: str


def texts(asked: Quality) -> tuple[Text, ...]:
    """Return the texts to score, domain by domain.

    Raises:
        BadInput: the user's folder holds none, or a domain is not there.
    """
    found = {domain: read for domain, read in _domains(_folder(asked.texts)) if domain != _QUESTIONS}
    wanted = asked.domains or tuple(found)
    missing = [domain for domain in wanted if domain not in found]
    if missing or not found:
        raise _not_there(asked, missing, tuple(found))
    return tuple(text for domain in wanted for text in found[domain])


def questions() -> tuple[Text, ...]:
    """Return the shipped questions, to be answered freely."""
    return split(_QUESTIONS, _shipped().joinpath(f"{_QUESTIONS}.txt").read_text(encoding="utf-8"))


def split(domain: str, written: str) -> tuple[Text, ...]:
    """Return the texts of one file: each begins after a line ``%% name``; a file without such lines is one text."""
    before, *parts = _NAME.split(written)
    named = list(zip(parts[::2], parts[1::2], strict=True)) or [(domain, before)]
    return tuple(Text(f"{domain}/{name}", domain, body.strip("\n")) for name, body in named if body.strip())


def _domains(folder: Traversable) -> Iterator[tuple[str, Sequence[Text]]]:
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".txt"):
            domain = path.name.removesuffix(".txt")
            yield domain, split(domain, path.read_text(encoding="utf-8"))


def _shipped() -> Traversable:
    return files("whichbits.quality").joinpath("texts")


def _folder(named: str | None) -> Traversable:
    if named is None:
        return _shipped()
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise BadInput(
            "quality_texts_missing",
            f"{named} is not a folder of texts",
            why="quality.texts names a folder that is not there, or a file",
            fix="name a folder with one .txt file a domain, or leave texts out",
        )
    return folder


def _not_there(asked: Quality, missing: Sequence[str], found: Sequence[str]) -> BadInput:
    what = f"there are no texts of {', '.join(missing)}" if missing else f"{asked.texts} holds no .txt file"
    return BadInput(
        "quality_domain_missing",
        what,
        why="a domain is the name of a .txt file without its ending",
        fix=f"choose among {', '.join(found)}" if found else "put a .txt file for each domain into the folder",
    )

"""Texts that were told without a language, such as errors and notes of a run: known again by their wording.

An error may come from another process, a note from a run of last year: what is kept of them is their English. A
catalogue has the templates that the program makes such texts of (tests hold it against the source), and a text of one
of them can be said in the catalogue's language. Anything else stays as it is.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from whichbits.language.catalogue import parse
from whichbits.language.language import Code, Language, language
from whichbits.language.phrase import Phrase, joined

_FIELD = re.compile(r"\{(\w+)\}")
_ADDED = r"(?:(?:[;:,.]| \(| with ).*)?"
"""What may stand in a field right behind another one: nothing, or something that begins as an addition does."""
_ENOUGH_LETTERS = 6
"""Of its own a template must have so many to be looked for within a text, where somebody else's words may stand."""


def tell(text: str, spoken: Language) -> str:
    """Return a text in a language: a phrase, a text that is known again, or as it is."""
    if spoken.phrases is None or isinstance(text, Phrase):
        return spoken.say(text)
    return _teller(spoken.code).say(_known(text, spoken.code))


@cache
def _told(code: Code) -> Mapping[str, str]:
    return parse(files("whichbits.language").joinpath(f"told.{code}.po").read_text(encoding="utf-8"))


@cache
def _teller(code: Code) -> Language:
    """Return the language with both its catalogues."""
    return Language(code, {**(language(code).phrases or {}), **_told(code)})


@cache
def _patterns(code: Code) -> tuple[tuple[re.Pattern[str], str, int], ...]:
    """Return what texts of each template look like, and its own letters: those that say most come first."""
    templates = sorted(_told(code), key=lambda template: -len(_FIELD.sub("", template)))
    return tuple(
        (re.compile(_pattern(template), re.DOTALL), template, sum(map(str.isalpha, _FIELD.sub("", template))))
        for template in templates
    )


def _pattern(template: str) -> str:
    words, names = (re.split(r"\{(\w+)\}", template)[first::2] for first in (0, 1))
    pieces = [_literal(words[0])]
    for place, name in enumerate(names):
        if name in names[:place]:
            pieces.append(f"(?P={name})")
        else:
            follows = place > 0 and not words[place]
            pieces.append(f"(?P<{name}>{_ADDED if follows else '.*?'})")
        pieces.append(_literal(words[place + 1]))
    return "".join(pieces)


def _literal(words: str) -> str:
    return re.escape(words.replace("{{", "{").replace("}}", "}"))


def _known(text: str, code: Code, least: int = 0) -> str:
    """Return a text as a phrase, as far as it is known; ``least`` is how many letters a template must have."""
    for pattern, template, letters in _patterns(code):
        if letters >= least and (found := pattern.fullmatch(text)):
            made = Phrase(text)
            made.template = template
            made.fields = {name: _known_part(value, code) for name, value in found.groupdict().items()}
            return made
    return _known_in_parts(text, code)


def _known_part(text: str, code: Code) -> str:
    return _known(text, code, _ENOUGH_LETTERS) if " " in text.strip() else text


def _known_in_parts(text: str, code: Code) -> str:
    """Look at each line, and behind what an error is about: ``fp16: …``."""
    lines = text.split("\n")
    if len(lines) > 1:
        return joined("\n", [_known(line, code, _ENOUGH_LETTERS) for line in lines])
    for head, rest in _about(text):
        known = _known(rest, code, _ENOUGH_LETTERS)
        if isinstance(known, Phrase):
            return head + known
    return text


def _about(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text before the first colon with it, and what comes after."""
    head, colon, rest = text.partition(": ")
    if colon and rest:
        yield head + colon, rest

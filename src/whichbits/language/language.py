"""A language: what each phrase is in it, and how fields stand in its sentences."""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from numbers import Number
from typing import Any, Literal

from whichbits.language.catalogue import parse
from whichbits.language.particles import particle
from whichbits.language.phrase import Phrase

Code = Literal["en", "ko"]

_WORD = re.compile(r"[A-Za-z]{2}")
_FIELD = re.compile(r"\{[^{}]*\}")
_LAYOUT = re.compile(r"(?P<layout>[^가-힣]*)(?P<particle>[가-힣]*)")
_MARK = "[en] "
"""Before a sentence that the catalogue lacks, so that it is seen."""


@dataclass(frozen=True)
class Language:
    """``phrases`` is None for English, in which templates are written."""

    code: Code
    phrases: Mapping[str, str] | None = None

    def say(self, text: object) -> str:
        """Return a phrase in this language; any other text as it is, for it is somebody's name or words."""
        return self._said(text, str)

    def say_all(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return each of them in this language."""
        return tuple(map(self.say, texts))

    def filled(self, template: str, fields: Mapping[str, object], escape: Callable[[str], str] = str) -> str:
        """Return the sentence of a template; ``escape`` is for what stands in its fields, not for the template."""
        return _Filler(self, escape).vformat(self._template(template), (), fields)

    def _said(self, text: object, escape: Callable[[str], str]) -> str:
        if not isinstance(text, Phrase):
            return escape(text if isinstance(text, str) else str(text))
        return escape(str(text)) if self.phrases is None else self.filled(text.template, text.fields, escape)

    def _template(self, template: str) -> str:
        if self.phrases is None:
            return template
        return self.phrases.get(template) or (_MARK + template if has_words(template) else template)


def has_words(template: str) -> bool:
    """Say whether a template has words of its own, or only fields, signs and single letters."""
    return _WORD.search(_FIELD.sub("", template)) is not None


ENGLISH = Language("en")

Say = Callable[[str], str]
"""Returns a phrase in one language, any other text as it is."""


@cache
def language(code: Code) -> Language:
    """Return a language, its catalogues read once."""
    return Language(code) if code == "en" else Language(code, catalogue(code) | catalogue(f"told.{code}"))


@cache
def catalogue(name: str) -> dict[str, str]:
    """Return a catalogue: ``ko`` of phrases, ``told.ko`` of texts that are told without a language."""
    return parse(files("whichbits.language").joinpath(f"{name}.po").read_text(encoding="utf-8"))


class _Filler(string.Formatter):
    """Fills templates: fields in the language, each with the particle that its layout asks for (``{arm:은}``)."""

    def __init__(self, language: Language, escape: Callable[[str], str]) -> None:
        self._language = language
        self._escape = escape

    def format_field(self, value: Any, format_spec: str) -> str:
        found = _LAYOUT.fullmatch(format_spec)
        layout, asked = (format_spec, "") if found is None else (found["layout"], found["particle"])
        if isinstance(value, Number):
            text = plain = format(value, layout)
        else:
            said = value if isinstance(value, str) else str(value)
            plain, text = self._language.say(said), self._language._said(said, self._escape)  # noqa: SLF001 - its own filler
        return text + (particle(plain, asked) if asked else "")

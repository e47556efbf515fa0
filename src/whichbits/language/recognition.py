"""Texts that were told without a language, such as errors and notes of a run: known again by their wording.

An error may come from another process, a note from a run of last year: what is kept of them is their English. A
catalogue has the templates that the program makes such texts of (tests hold it against the source), and a text of one
of them can be said in the catalogue's language. Anything else stays as it is.
"""

import re
from functools import cache

from whichbits.language.amounts import amount_said
from whichbits.language.language import Language, catalogue
from whichbits.language.phrase import Phrase, joined

_MODEL, _PHRASES = "told.ko", "ko"
"""Every language has the same templates; any catalogue tells them."""

_FIELD = re.compile(r"\{(\w+)\}")
_ADDED = r"(?:(?:[;:,.]| \(| with ).*)?"
"""What may stand in a field right behind another one: nothing, or something that begins as an addition does."""
_NO_SUBJECT = "(?<!:)"
"""A text's first field is never "fp16:", which says whom a text is about: the text itself begins behind it."""
_JOINTS = ("; ", ": ")
"""What stands between texts that were told one by one."""
_ENOUGH_LETTERS = 6
"""Of its own a template must have so many to be looked for within a text, where somebody else's words may stand."""


def tell(text: str, spoken: Language) -> str:
    """Return a text in a language: a phrase, a text that is known again, or as it is."""
    return text if spoken.phrases is None else spoken.say(recognise(text))


def recognise(text: str) -> str:
    """Return a text as the phrase that the program made it of; as it is where it is of none."""
    return text if isinstance(text, Phrase) else _found(text) or text


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str, bool], ...]:
    """Return what texts of each template look like, and whether it is known within others; what says most is first."""
    templates = sorted(catalogue(_MODEL), key=lambda template: -len(_FIELD.sub("", template)))
    return tuple((re.compile(_pattern(each), re.DOTALL), each, _says_enough(each)) for each in templates)


def _says_enough(template: str) -> bool:
    own = _FIELD.sub("", template)
    return sum(map(str.isalpha, own)) >= _ENOUGH_LETTERS or " / " in own


def _pattern(template: str) -> str:
    words, names = (re.split(r"\{(\w+)\}", template)[first::2] for first in (0, 1))
    pieces = [_literal(words[0])]
    for place, name in enumerate(names):
        if name in names[:place]:
            pieces.append(f"(?P={name})")
        else:
            follows = place > 0 and not words[place]
            pieces.append(f"(?P<{name}>{_ADDED if follows else '.*?'})")
            if place == 0 and not words[0]:
                pieces.append(_NO_SUBJECT)
        pieces.append(_literal(words[place + 1]))
    return "".join(pieces)


def _literal(words: str) -> str:
    return re.escape(words.replace("{{", "{").replace("}}", "}"))


def _found(text: str, *, within: bool = False) -> Phrase | None:
    """Return a text as a phrase, as far as it is known; ``within`` another one, of templates that say enough."""
    for pattern, template, says_enough in _patterns():
        if (says_enough or not within) and (found := pattern.fullmatch(text)):
            values = list(found.groupdict().values())
            swallows = bool(values) and template.endswith("}") and any(sign in values[-1] for sign in _JOINTS)
            if swallows and (parts := _all_of_its_parts(text)) is not None:
                return parts
            made = Phrase(text)
            made.template = template
            made.fields = {name: _part(value) for name, value in found.groupdict().items()}
            return made
    return _found_in_parts(text)


def _all_of_its_parts(text: str) -> Phrase | None:
    """Return a text as what is joined in it, if each part is known for itself: a last field would swallow the rest."""
    for separator in _JOINTS:
        parts = text.split(separator)
        known = [_found(part) for part in parts] if len(parts) > 1 else []
        if known and all(known):
            return joined(separator, [part for part in known if part is not None])
    return None


def _part(text: str) -> str:
    if " " not in text.strip():
        return text
    if (counted := amount_said(text)) is not None:
        return counted
    known_phrase = text in catalogue(_PHRASES) and "{" not in text
    return Phrase.of(text, {}) if known_phrase else _found(text, within=True) or text


def _found_in_parts(text: str) -> Phrase | None:
    """Look at each line, behind what an error is about (``fp16: …``), at what semicolons part, before the full stop."""
    for separator, times in (("\n", -1), (": ", 1), ("; ", -1)):
        parts = text.split(separator, times)
        if len(parts) > 1:
            known = [_found(part, within=True) for part in parts]
            if any(known):
                return joined(separator, [each or part for each, part in zip(known, parts, strict=True)])
    ended = _found(text[:-1], within=True) if text.endswith(".") else None
    return None if ended is None else joined("", [ended, "."])

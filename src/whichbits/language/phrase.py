"""A text in English that knows what it is made of, so that it can be said in another language, too."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

MOST_NAMES = 24
"""More of them in one sentence nobody reads: then it has the first ``_OF_MORE``."""
_OF_MORE = 12


class Phrase(str):
    """A text with its template and fields; of a field that is a phrase itself, the same is known again."""

    __slots__ = ("fields", "template")
    template: str
    fields: Mapping[str, object]

    @classmethod
    def of(cls, template: str, fields: Mapping[str, object]) -> Self:
        """Return the text of a template and its fields, as ``str.format`` makes it."""
        made = cls(template.format(**fields))
        made.template = template
        made.fields = fields
        return made

    def without(self, *names: str) -> "Phrase":
        """Return the same with these fields empty, its own and those of the phrases in it."""
        kept = {
            name: "" if name in names else value.without(*names) if isinstance(value, Phrase) else value
            for name, value in self.fields.items()
        }
        return Phrase.of(self.template, kept)

    def titled(self) -> "Phrase":
        """Return the same with a capital letter, which headings in English begin with."""
        made = Phrase(self[:1].upper() + self[1:])
        made.template, made.fields = self.template, self.fields
        return made

    def __add__(self, other: str) -> "Phrase":
        """Return both, one after the other, and what both are made of."""
        return joined("", (self, other))

    def __radd__(self, other: str) -> "Phrase":
        """Return the same, the other one first."""
        return joined("", (other, self))


def phrase(template: str, /, **fields: object) -> Phrase:
    """Return a text of the template; a catalogue of another language has the same template with the same fields."""
    return Phrase.of(template, fields)


def joined(separator: str, parts: Iterable[str]) -> Phrase:
    """Return the parts with a separator between them, which has no words and is the same in every language."""
    fields = {f"part_{place}": part for place, part in enumerate(parts)}
    return Phrase.of(separator.join(f"{{{name}}}" for name in fields), fields)


def listed(names: Iterable[str]) -> Phrase:
    """Return ``a``, ``a and b`` or ``a, b and c``; of more than ``MOST_NAMES`` the first, and how many others."""
    *before, last = known = tuple(names)
    if len(known) > MOST_NAMES:
        return first_of(", ", known)
    return phrase("{before} and {last}", before=joined(", ", before), last=last) if before else joined("", [last])


def first_of(separator: str, names: Sequence[str]) -> Phrase:
    """Return the names with a separator between them; of more than ``MOST_NAMES`` the first, and how many others."""
    if len(names) <= MOST_NAMES:
        return joined(separator, names)
    count = len(names) - _OF_MORE
    return phrase("{names} and {count} others", names=joined(separator, names[:_OF_MORE]), count=count)


def recognised(text: str, templates: Iterable[str], parts: Iterable[Phrase]) -> str:
    """Return a recorded text as a phrase of the template that it was made of; as it is where it is of none.

    Its fields are texts, those that are one of the ``parts`` phrases again.
    """
    known = {str(part): part for part in parts}
    for template in templates:
        if found := re.fullmatch(_pattern(template), text, re.DOTALL):
            made = Phrase(text)
            made.template = template
            made.fields = {name: known.get(value, value) for name, value in found.groupdict().items()}
            return made
    return text


def _pattern(template: str) -> str:
    parts = re.split(r"\{(\w+)[^{}]*\}", template)
    return "".join(f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts))

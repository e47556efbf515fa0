"""Texts of tokens that hold a part of a character only, mended from the text that they are tokens of."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from whichbits.quality.asked import Token

_PART = "\N{REPLACEMENT CHARACTER}"
_FURTHEST = 200
"""Characters within which the next whole token must be found; beyond, the texts are another's."""


def readable(tokens: Sequence[Token], content: str) -> tuple[Token, ...]:
    """Return the tokens with readable texts: of parts of a character, the last has it all, the others nothing.

    From the first token on that ``content`` does not hold, texts stay as the server gave them.
    """
    mended: list[Token] = []
    begun = 0
    for *parts, whole in _runs(tokens):
        at = _found(whole.text, content, begun, behind=bool(parts))
        if at is None:
            break
        mended += [*_with_text(parts, content[begun:at]), whole]
        begun = at + len(whole.text)
    return (*mended, *tokens[len(mended) :])


def _runs(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield each whole token behind the parts before it; parts at the end are left out."""
    run: list[Token] = []
    for token in tokens:
        run.append(token)
        if token.text and _PART not in token.text:
            yield run
            run = []


def _found(text: str, content: str, begun: int, *, behind: bool) -> int | None:
    at = content.find(text, begun + behind, begun + len(text) + _FURTHEST)
    return None if at < 0 or (at != begun and not behind) else at


def _with_text(parts: Sequence[Token], text: str) -> list[Token]:
    return [replace(part, text=text if part is parts[-1] else "") for part in parts]

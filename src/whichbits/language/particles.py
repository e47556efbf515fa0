"""Korean particles, whose form depends on how the word before them ends when it is read aloud."""

import re

_PAIRS = (
    ("은", "는"),
    ("이", "가"),
    ("을", "를"),
    ("과", "와"),
    ("으로", "로"),
    ("이다", "다"),
    ("이고", "고"),
    ("이며", "며"),
    ("이라", "라"),
)
"""After a final consonant, and after a vowel."""
_FORMS = {form: pair for pair in _PAIRS for form in pair}

_FIRST, _LAST, _FINALS, _L = 0xAC00, 0xD7A3, 28, 8
_DIGITS = {"0": "영", "1": "일", "2": "이", "3": "삼", "4": "사", "5": "오", "6": "육", "7": "칠", "8": "팔", "9": "구"}
_CAPITALS = {"L": "엘", "M": "엠", "N": "엔", "R": "알"}
"""Letters whose names end in a consonant."""
_SIGNS = {"%": "퍼센트", "×": "배", "°": "도"}  # noqa: RUF001 - the sign that reports use
_ASIDE = re.compile(r"\s*\([^()]*\)$")
_MARKS = "\"'`”’»]>. "  # noqa: RUF001 - quotes as they stand in sentences


def particle(word: str, form: str) -> str:
    """Return the particle for a word, given in either form: ``은`` or ``는``.

    Both forms, as in ``은(는)``, where nobody can say how the word is read.

    Raises:
        KeyError: the form is not a particle.
    """
    closed, opened = _FORMS[form]
    final = _final(word)
    if final is None:
        return f"{closed}({opened})"
    # 으로 stands after a consonant, but not after ㄹ.
    return opened if final == 0 or (closed == "으로" and final == _L) else closed


def _final(word: str) -> int | None:
    """Return the final consonant of the last syllable by its number in Unicode, 0 for none."""
    read = _read(_ASIDE.sub("", word).rstrip(_MARKS))
    return (ord(read) - _FIRST) % _FINALS if read and _FIRST <= ord(read) <= _LAST else None


def _read(word: str) -> str:
    """Return the last syllable of how a word is read aloud; empty where that is not known."""
    last = word[-1:]
    if last in _DIGITS:
        return _DIGITS[last]
    if last in _SIGNS:
        return _SIGNS[last][-1]
    if last.isascii() and last.isalpha():
        return _letter(word)
    return last


def _letter(word: str) -> str:
    """Read a Latin ending: capitals and letters after digits by their names, words roughly by their sound."""
    last, before = word[-1], word[-2:-1]
    if last.isupper() or before.isdigit() or not before.isalpha():
        return _CAPITALS.get(last.upper(), "이")
    if last == "l":
        return "을"
    if word.endswith("ic"):
        return "익"
    return "은" if last in "mn" or word.endswith("ng") else "이"

"""Python's own printing of settings, ``key=value`` and ``'key': value``, taken apart without evaluating it."""

import re
from typing import Any

_KEY = re.compile(r"""\s*(?P<quote>['"]?)(?P<key>[A-Za-z_]\w*)(?P=quote)\s*[=:]\s*(?P<value>.*)""", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,18}(?P<fraction>\.\d*)?(?P<exponent>e[+-]?\d{1,3})?", re.IGNORECASE)
_ENUM_OBJECT = re.compile(r"<(?P<kind>\w+)\.(?P<name>\w+): .*>", re.DOTALL)
_ENUM_NAME = re.compile(r"[A-Z]\w*\.(?P<name>[A-Z][A-Z0-9_]*)")
_WORDS = {"None": None, "True": True, "False": False, "null": None, "true": True, "false": False}
_COUNT = re.compile(r"\b\d{1,18}\b")
_OPENING, _CLOSING = "([{", ")]}"


def split_fields(text: str) -> dict[str, str]:
    """Return each setting's value as it is printed, up to the bracket that closes the outermost level.

    A last value that nothing ends (a cut or an unclosed line) is left out: it may be a part of one.
    """
    fields = {}
    for piece in _pieces(text):
        if found := _KEY.fullmatch(piece):
            fields[found["key"]] = found["value"].strip()
    return fields


def value(text: str) -> Any:
    """Return what a printed value means: None, bool, number, text, or a list of these; unknown objects as text."""
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    if number := _NUMBER.fullmatch(text):
        return float(text) if number["fraction"] or number["exponent"] else int(text)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text[:1] == "[" and text[-1:] == "]":
        return [value(piece) for piece in _pieces(text[1:]) if piece.strip()]
    if enum := _ENUM_OBJECT.fullmatch(text) or _ENUM_NAME.fullmatch(text):
        return enum["name"].lower()
    return text.removeprefix("torch.")


def integers(text: str) -> list[int]:
    """Return the numbers of a printed list."""
    return [int(number) for number in _COUNT.findall(text)]


def _pieces(text: str) -> list[str]:
    """Split at the commas of the outermost level."""
    pieces: list[str] = []
    start, depth, quote, escaped = 0, 0, "", False
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif character in "'\"":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        if depth < 0 or (character == "," and not depth and not quote):
            pieces.append(text[start:place])
            start = place + 1
        if depth < 0:
            break
    return pieces

"""Records in JSON text as tools write them: one array, one object, or one record a line; whole or cut off."""

import json
import re
from typing import Any, NamedTuple

_NON_NUMBERS = {"NaN": None, "Infinity": "inf", "-Infinity": "-inf"}
_decoder = json.JSONDecoder(parse_constant=_NON_NUMBERS.__getitem__)
_BYTE_ORDER_MARK = "\ufeff"
_ITEM_START = re.compile(r"[^ \t\r\n,]")


class JsonRecords(NamedTuple):
    """What could be read: the records in order, the lines (from 1) that hold none, and whether the end is missing."""

    values: list[Any]
    broken_lines: tuple[int, ...] = ()
    cut_off: bool = False


def read_json_records(text: str) -> JsonRecords:
    """Return the records of ``text``; an array yields its items, any other document itself.

    Python's own writers put NaN and Infinity into JSON: the first becomes None, the second the text "inf".
    """
    text = text.removeprefix(_BYTE_ORDER_MARK).strip()
    try:
        whole = _decoder.decode(text)
    except (ValueError, RecursionError):
        return _read_items(text) if text.startswith("[") else _read_lines(text)
    return JsonRecords(whole if isinstance(whole, list) else [whole])


def _read_items(text: str) -> JsonRecords:
    """Return the items of an array up to the place where it breaks, as a download that was cut off does."""
    items: list[Any] = []
    at = 1
    while True:
        start = _ITEM_START.search(text, at)
        if start is None:
            return JsonRecords(items, cut_off=True)
        try:
            item, at = _decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return JsonRecords(items, cut_off=True)
        items.append(item)


def _read_lines(text: str) -> JsonRecords:
    lines = text.split("\n")
    values: list[Any] = []
    broken: list[int] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values.append(_decoder.decode(line.strip()))
        except (ValueError, RecursionError):
            broken.append(number)
    ends_open = broken[-1:] == [len(lines)] and not lines[-1].endswith("}")
    return JsonRecords(values, tuple(broken), cut_off=bool(values) and ends_open)

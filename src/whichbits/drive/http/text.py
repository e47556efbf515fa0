"""HTTP responses as text captures show them (``curl -i``, ``curl -v``), or a body alone."""

import re
from typing import NamedTuple

# ``curl -v`` marks what it received with "<"; its other notes stand before and after.
_STATUS_LINE = re.compile(r"^(?:< )?HTTP/\d(?:\.\d)? (\d{3})\b[^\n]*\n?", re.MULTILINE)
_HEAD_END = re.compile(r"^(?:<[ \t]*)?\r?\n", re.MULTILINE)
# What people put between two responses of one capture.
_SEPARATOR = re.compile(r"(?<!\s)\s*^-{3,}[ \t]*\r?\n?\Z", re.MULTILINE)
_FIRST_FINAL_STATUS = 200


class Response(NamedTuple):
    """One response: its status, None if only a body was captured, and its body."""

    status: int | None
    body: str


def split_responses(text: str) -> list[Response]:
    """Return the responses in ``text`` in order, without interim ones such as 100 Continue."""
    _, *parts = _STATUS_LINE.split(text)
    if not parts:
        return [Response(None, text)]
    responses = [Response(int(status), _body(rest)) for status, rest in zip(parts[::2], parts[1::2], strict=True)]
    return [response for response in responses if (response.status or 0) >= _FIRST_FINAL_STATUS]


def _body(after_status: str) -> str:
    head_end = _HEAD_END.search(after_status)
    return _SEPARATOR.sub("", after_status[head_end.end() :]) if head_end else ""

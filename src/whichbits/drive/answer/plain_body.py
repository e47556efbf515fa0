"""An answer that is no event stream: a whole completion, or an error in one of the shapes that servers give it."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from whichbits.drive.answer.sse import readable_error

Facts = dict[str, Any]

_ERROR_STATUSES = range(400, 600)
_TITLE = re.compile(
    r"\A\s*<(?:!doctype|html)\b.*?<title>\s*(?P<title>(?P<status>[45]\d\d)\b[^<]{0,200}?)\s*</title>",
    re.DOTALL | re.IGNORECASE,
)
_LIST_OF_ANSWERS = ("chat.completion", "text_completion")


class PlainBody(NamedTuple):
    """What a body says; the status that it names, if it names one, and whether it is an error."""

    facts: Facts
    status: int | None
    is_error: bool


def read_plain_body(body: str) -> PlainBody | None:
    """Return what a plain body says, or None if it is neither an error nor a completion.

    Shapes: ``{"error": {…}}`` or ``{"error": "…"}`` (OpenAI, TGI), ``{"object": "error", …}`` (vLLM up to 0.10),
    ``{"detail": …}`` (FastAPI), an HTML page whose title begins with a status (nginx and its like).
    """
    if page := _TITLE.match(body):
        return _error({"message": " ".join(page["title"].split())}, int(page["status"]))
    value = _json_object(body)
    if value is None:
        return None
    if (error := _error_in(value)) is not None:
        return _error(error, _status(error.get("code")))
    return _completion(value)


def _json_object(body: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(body.encode(errors="replace"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _error_in(value: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(value.get("error"), dict):
        return dict(value["error"])
    if isinstance(value.get("error"), str) or value.get("object") == "error":
        return value
    if value.keys() == {"detail"} and isinstance(value["detail"], str | list | dict):
        return {"message": _detail(value["detail"])}
    return None


def _detail(detail: Any) -> str:
    """Return FastAPI's complaints as ``body.model: field required``."""
    if not isinstance(detail, list):
        return readable_error(detail)
    return "; ".join(_complaint(entry) if isinstance(entry, Mapping) else readable_error(entry) for entry in detail)


def _complaint(entry: Mapping[str, Any]) -> str:
    place = entry.get("loc")
    where = ".".join(map(str, place)) + ": " if isinstance(place, list) else ""
    return f"{where}{entry.get('msg') or entry.get('type') or ''}"


def _status(code: Any) -> int | None:
    return code if isinstance(code, int) and code in _ERROR_STATUSES else None


def _error(error: dict[str, Any], status: int | None) -> PlainBody:
    facts = {
        "error_type": error.get("type") or error.get("error_type"),
        "error_param": error.get("param"),
        "error_message": readable_error(error),
    }
    return PlainBody(facts, status, is_error=True)


def _completion(value: dict[str, Any]) -> PlainBody | None:
    """Read a whole answer, as a request without ``stream`` gets it."""
    choices = [choice for choice in value.get("choices") or () if isinstance(choice, dict)]
    if value.get("object") not in _LIST_OF_ANSWERS or not choices:
        return None
    usage = value.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    texts = [_text(choice) for choice in choices]
    facts: Facts = {
        "api": "chat" if value["object"] == "chat.completion" else "completions",
        "stream": False,
        "finish_reason": choices[-1].get("finish_reason"),
        "prompt_tokens": usage.get("prompt_tokens"),
        "cached_tokens": details.get("cached_tokens") if isinstance(details, dict) else None,
        "completion_tokens": usage.get("completion_tokens"),
        "choices": len(choices),
        "text": texts[0],
    }
    return PlainBody(facts | ({"texts": texts} if len(texts) > 1 else {}), None, is_error=False)


def _text(choice: dict[str, Any]) -> str | None:
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    return text if isinstance(text, str) else None

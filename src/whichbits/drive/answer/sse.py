"""Server-sent events of completions: split a body into events, and decode the few fields that are needed."""

import re
from typing import Annotated, Any, NamedTuple

import msgspec

DONE = b"[DONE]"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FAILED_FINISH = frozenset({"error", "abort"})

# Atomic, so that one CRLF is never taken for two line ends.
_BLANK_LINE = re.compile(rb"(?>\r\n|\r|\n){2}")
_LINE_END = re.compile(rb"\r\n|\r|\n")


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""Tokens as a record can hold them; what claims more, or fewer than none, is no usage that anybody should believe."""


class ServerEvent(NamedTuple):
    """One event: its data, the offset just behind its blank line, and whether it is named an error."""

    data: bytes
    end: int
    is_error: bool


class Delta(msgspec.Struct, gc=False):
    """What a chat chunk adds."""

    role: str | None = None
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    refusal: str | None = None
    tool_calls: list[msgspec.Raw] | None = None
    function_call: dict[str, Any] | None = None

    @property
    def has_content(self) -> bool:
        """Whether anything was generated; a role alone is not."""
        return bool(self.generated or self.is_beyond_text)

    @property
    def generated(self) -> str:
        """The text that it adds; engines that are changing the name of reasoning send it under both."""
        return (self.reasoning or self.reasoning_content or "") + (self.content or "") + (self.refusal or "")

    @property
    def is_beyond_text(self) -> bool:
        """Whether something other than text was generated: a call of a tool, or of a function as it once was."""
        return bool(self.tool_calls or self.function_call)


class Choice(msgspec.Struct, gc=False):
    """One choice of a chunk, of either API."""

    index: int | None = None
    text: str | None = None
    delta: Delta | None = None
    finish_reason: str | None = None

    @property
    def has_content(self) -> bool:
        """Whether the choice carries generated text, reasoning or a tool call."""
        return bool(self.text) or (self.delta is not None and self.delta.has_content)

    @property
    def generated(self) -> str:
        """The text that it adds, reasoning included."""
        return (self.text or "") + (self.delta.generated if self.delta is not None else "")

    @property
    def is_beyond_text(self) -> bool:
        """Whether something other than text was generated."""
        return self.delta is not None and self.delta.is_beyond_text


class PromptDetails(msgspec.Struct, gc=False):
    """Where prompt tokens came from."""

    cached_tokens: _Count | None = None


class Usage(msgspec.Struct, gc=False):
    """Token counts so far, cumulative."""

    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    prompt_tokens_details: PromptDetails | None = None


class Payload(msgspec.Struct, gc=False):
    """An event's JSON. Some engines put the choice's fields at the top, others mark errors by ``object``."""

    choices: list[Choice] | None = None
    usage: Usage | None = None
    error: Any = None
    object: str | None = None
    message: str | None = None
    delta: Delta | None = None
    finish_reason: str | None = None

    @property
    def all_choices(self) -> list[Choice]:
        """The choices, wherever they stand."""
        if self.choices:
            return self.choices
        if self.delta is not None or self.finish_reason is not None:
            return [Choice(delta=self.delta, finish_reason=self.finish_reason)]
        return []

    @property
    def error_text(self) -> str | None:
        """The error that the event reports, or None."""
        if self.error:
            return readable_error(self.error)
        if self.object == "error":
            return self.message or "an error without a message"
        failed = [choice.finish_reason for choice in self.all_choices if choice.finish_reason in _FAILED_FINISH]
        return f"finish_reason is {failed[0]!r}" if failed else None


_payload = msgspec.json.Decoder(Payload)


def decode(data: bytes) -> Payload:
    """Return an event's data as a payload.

    Raises:
        msgspec.DecodeError: it is not JSON, or a field has another type than it should.
    """
    return _payload.decode(data)


def split_events(body: bytes) -> list[ServerEvent]:
    """Return the events of ``body`` in order.

    Lines end with LF, CR or CRLF; comments and other fields than ``data``, ``event`` and ``error`` (an old
    llama.cpp way to report one) are ignored; a last event without its blank line counts.
    """
    block_end = _block_end if b"\r" in body else _block_end_lf
    events: list[ServerEvent] = []
    start = len(_BYTE_ORDER_MARK) if body.startswith(_BYTE_ORDER_MARK) else 0
    while start < len(body):
        end, following = block_end(body, start)
        data, is_error = _read_block(body[start:end])
        if data is not None:
            events.append(ServerEvent(data, following, is_error))
        start = following
    return events


def _block_end(body: bytes, start: int) -> tuple[int, int]:
    """Return where the block that begins at ``start`` ends, and where its blank line does."""
    match = _BLANK_LINE.search(body, start)
    return match.span() if match else (len(body), len(body))


def _block_end_lf(body: bytes, start: int) -> tuple[int, int]:
    """Do the same where only LF ends lines: most streams, at a tenth of the cost."""
    end = body.find(b"\n\n", start)
    return (end, end + 2) if end >= 0 else (len(body), len(body))


def _read_block(block: bytes) -> tuple[bytes | None, bool]:
    if block.startswith(b"data: {") and b"\n" not in block and b"\r" not in block:
        return block[6:], False  # nearly every event there is
    data: list[bytes] = []
    is_error = False
    for line in _LINE_END.split(block):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field in (b"data", b"error"):
            data.append(value)
        is_error = is_error or field == b"error" or (field == b"event" and value == b"error")
    return (b"\n".join(data) if data else None), is_error


def readable_error(value: Any) -> str:
    """Return the message inside an error of any shape seen in the wild: text, object, nested objects."""
    while isinstance(value, dict):
        inner = next((value[key] for key in ("error", "message", "detail", "type") if value.get(key)), None)
        if inner is None:
            break
        value = inner
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

"""A request as it comes off the wire: HTTP/1.1 read as far as a mock needs it, and the body's few telling fields."""

import zlib
from typing import Any, NamedTuple

import msgspec

_HEAD_END = b"\r\n\r\n"
LONGEST_HEAD = 65_536
VOCABULARY = 32_000
_DEFAULT_TOKENS = 16
_MOST_TOKENS = 1_000_000


class Refused(Exception):  # noqa: N818 - the HTTP word
    """A request that is answered by an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Wire(NamedTuple):
    """One whole HTTP request; ``length`` is what it took of the buffer. Header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    length: int


def read_wire(inbox: bytes | bytearray) -> Wire | None:
    """Return the request that the buffer begins with; None if it is not all there yet. Raises Refused."""
    end = inbox.find(_HEAD_END)
    if end < 0:
        if len(inbox) > LONGEST_HEAD:
            raise Refused(431, "the head of the request is too long")
        return None
    head = bytes(inbox[:end]).decode("latin-1").split("\r\n")
    words = head[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(400, "this is no HTTP/1.1 request")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    length = _body_length(headers)
    start = end + len(_HEAD_END)
    if len(inbox) < start + length:
        return None
    return Wire(words[0], words[1].partition("?")[0], headers, bytes(inbox[start : start + length]), start + length)


def _body_length(headers: dict[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise Refused(411, "send a Content-Length")
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        raise Refused(400, "the Content-Length is no number")
    return int(length)


class StreamOptions(msgspec.Struct, frozen=True):
    """What a request wants to be told of tokens."""

    include_usage: bool = False
    continuous_usage_stats: bool = False


class Body(msgspec.Struct, frozen=True):
    """The fields of a completion's body that change what a mock does; all others are taken and ignored."""

    prompt: str | list[int] | None = None
    messages: list[dict[str, Any]] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    user: str | None = None
    n: int = 1
    model: str | None = None

    @property
    def output_tokens(self) -> int:
        """Tokens of the answer."""
        return self.max_completion_tokens or self.max_tokens or _DEFAULT_TOKENS

    def prompt_ids(self) -> list[int]:
        """Return the prompt as token ids: those given, or one a word. Raises Refused if there is none."""
        if isinstance(self.prompt, list):
            ids = self.prompt
        elif self.prompt is not None:
            ids = word_ids(self.prompt)
        else:
            ids = word_ids(" ".join(_text(message) for message in self.messages or ()))
        if not ids:
            raise Refused(400, "the prompt is empty")
        return ids


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def word_ids(text: str) -> list[int]:
    """Return one id a word, equal for equal words: the mock's whole tokeniser."""
    return [zlib.crc32(word.encode()) % VOCABULARY for word in text.split()]


_body = msgspec.json.Decoder(Body)


def read_body(body: bytes) -> Body:
    """Return a completion's body. Raises Refused if it is none, or asks for what a mock does not do."""
    try:
        asked = _body.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, str(error)) from error
    if asked.n != 1:
        raise Refused(400, "the mock gives one choice: n must be 1")
    if not 1 <= asked.output_tokens <= _MOST_TOKENS:
        raise Refused(400, f"max_tokens must be from 1 to {_MOST_TOKENS}")
    return asked

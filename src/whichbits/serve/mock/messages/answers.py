"""An answer as bytes, made before its first token is due, so that a send costs a send."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Literal

import msgspec

from whichbits.serve.mock.settings import RoleChunk, UsageStyle

Api = Literal["completions", "chat"]
Ending = Literal["keep", "cut", "reset"]

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
    b"Server: whichbits-mock\r\nX-Request-Id: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_END = b"0\r\n\r\n"
_KEPT_ANSWERS = 64
_WORDS = (b"the", b"mock", b"says", b"one", b"word", b"at", b"a", b"time")


@dataclass(frozen=True)
class Form:
    """All that the bytes of an answer depend on, and nothing that differs between two alike requests."""

    api: Api
    model: str
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    usage: UsageStyle
    tokens_per_chunk: int = 1
    events_per_send: int = 1
    role_chunk: RoleChunk = "none"
    reasoning_tokens: int = 0
    streamed: bool = True
    style: tuple[str, ...] = ()
    """Of ``crlf``, ``comments`` and ``no_space``."""
    done: bool = True
    error_after: int | None = None
    broken_after: int | None = None
    ending: Ending = "keep"


@dataclass(frozen=True)
class Answer:
    """What is sent when: one entry a tick of the stream's clock; empty bytes send nothing at that tick.

    ``tokens`` are those of each content event, and ``contents`` how many such events a tick sends.
    """

    early: bytes
    sends: tuple[bytes, ...]
    tokens: tuple[tuple[int, ...], ...]
    ending: Ending
    whole: bool = True
    """Whether it ends in order."""

    @cached_property
    def said(self) -> tuple[int, ...]:
        """Tokens sent before each tick, and at last in all."""
        return tuple(accumulate((sum(each) for each in self.tokens), initial=0))


@lru_cache(_KEPT_ANSWERS)
def answer(form: Form) -> Answer:
    """Return the whole answer; those of one form are made once."""
    if not form.streamed:
        return _whole(form)
    events = list(_contents(form))
    counts = list(_counts(form))
    role = _event(form, _role()) if form.api == "chat" and form.role_chunk != "none" else b""
    if role and form.role_chunk == "with_token" and events:
        events[0] = role + events[0]
    sends, tokens = _bundled(events, counts, form.events_per_send)
    _end(form, sends, tokens)
    early = role if form.role_chunk == "early" else b""
    whole = form.error_after is None and form.ending == "keep"
    return Answer(early, tuple(sends), tuple(tokens), form.ending, whole)


def _end(form: Form, sends: list[bytes], tokens: list[tuple[int, ...]]) -> None:
    """Add what comes after the last token: an end in order goes with it, a fault at the next tick."""
    if form.broken_after is not None:
        sends.append(b"")
        tokens.append(())
    elif form.error_after is not None:
        sends.append(_event(form, b'{"error":{"message":"the mock was told to fail","type":"mock","code":500}}') + _END)
        tokens.append(())
    else:
        sends[-1] += b"".join(_last_events(form)) + _END


def _last_events(form: Form) -> Iterator[bytes]:
    if form.usage in ("final", "continuous"):
        yield _event(form, b'{%b,"choices":[],"usage":%b}' % (_envelope(form), _usage(form, form.output_tokens)))
    if form.done:
        yield _event(form, b"[DONE]")


def _counts(form: Form) -> Iterator[int]:
    left = _spoken(form)
    while left > 0:
        yield min(form.tokens_per_chunk, left)
        left -= form.tokens_per_chunk


def _spoken(form: Form) -> int:
    """Tokens before the answer breaks off, if it does."""
    bounds = (form.output_tokens, form.error_after, form.broken_after)
    return min(bound for bound in bounds if bound is not None)


def _contents(form: Form) -> Iterator[bytes]:
    said = 0
    for count in _counts(form):
        text = b"".join(b" " + _WORDS[(said + place) % len(_WORDS)] for place in range(count))
        finish = b'"length"' if said + count == form.output_tokens else b"null"
        choice = _choice(form, said, text, finish)
        said += count
        usage = b',"usage":' + _usage(form, said) if form.usage == "continuous" else b""
        yield _event(form, b'{%b,"choices":[%b]%b}' % (_envelope(form), choice, usage))


def _choice(form: Form, said: int, text: bytes, finish: bytes) -> bytes:
    if form.api == "completions":
        return b'{"index":0,"text":"%b","logprobs":null,"finish_reason":%b}' % (text, finish)
    field = b"reasoning_content" if said < form.reasoning_tokens else b"content"
    return b'{"index":0,"delta":{"%b":"%b"},"logprobs":null,"finish_reason":%b}' % (field, text, finish)


def _role() -> bytes:
    return b'{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}'


def _envelope(form: Form, kind: bytes | None = None) -> bytes:
    kind = kind or (b"text_completion" if form.api == "completions" else b"chat.completion.chunk")
    return b'"id":"mock-1","object":"%b","created":0,"model":%b' % (kind, msgspec.json.encode(form.model))


def _usage(form: Form, said: int) -> bytes:
    return (
        b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}'
        % (form.prompt_tokens, said, form.prompt_tokens + said, form.cached_tokens)
    )


def _event(form: Form, data: bytes) -> bytes:
    """Frame an event as SSE in a chunk of HTTP of its own."""
    line = b"\r\n" if "crlf" in form.style else b"\n"
    comment = b": ping" + line + line if "comments" in form.style else b""
    body = comment + (b"data:" if "no_space" in form.style else b"data: ") + data + line + line
    return b"%x\r\n%b\r\n" % (len(body), body)


def _bundled(events: list[bytes], counts: list[int], together: int) -> tuple[list[bytes], list[tuple[int, ...]]]:
    """Hold events back until ``together`` are there; the ticks between send nothing."""
    sends: list[bytes] = []
    tokens: list[tuple[int, ...]] = []
    for start in range(0, len(events), together):
        held = events[start : start + together]
        sends += [b""] * (len(held) - 1) + [b"".join(held)]
        tokens += [()] * (len(held) - 1) + [tuple(counts[start : start + together])]
    return sends, tokens


def _whole(form: Form) -> Answer:
    """Return an answer that is not streamed: all of it at the time of its last token."""
    text = b"".join(b" " + _WORDS[place % len(_WORDS)] for place in range(form.output_tokens))
    if form.api == "completions":
        kind, choice = b"text_completion", b'{"index":0,"text":"%b","logprobs":null,"finish_reason":"length"}' % text
    else:
        message = b'{"role":"assistant","content":"%b"}' % text
        kind, choice = b"chat.completion", b'{"index":0,"message":%b,"finish_reason":"length"}' % message
    body = b'{%b,"choices":[%b],"usage":%b}' % (_envelope(form, kind), choice, _usage(form, form.output_tokens))
    counts = list(_counts(form))
    silent = len(counts) - 1
    return Answer(b"", (b"",) * silent + (page(200, body),), ((),) * silent + ((form.output_tokens,),), "keep")


_REASONS = {200: b"OK", 400: b"Bad Request", 404: b"Not Found", 429: b"Too Many Requests", 503: b"Unavailable"}


def page(status: int, body: bytes, kind: bytes = b"application/json", more: bytes = b"") -> bytes:
    """Return a whole HTTP answer; ``more`` are header lines, each with its end."""
    return b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nServer: whichbits-mock\r\n%bContent-Length: %d\r\n\r\n%b" % (
        status,
        _REASONS.get(status, b"Mock"),
        kind,
        more,
        len(body),
        body,
    )

"""A planned request as the bytes of an HTTP/1.1 request, made before the clock starts."""

from collections.abc import Sequence
from typing import Any

import msgspec

from whichbits.drive.target import Target
from whichbits.drive.words import as_text, as_words
from whichbits.study.request import RequestForm
from whichbits.traffic.request import Message, PlannedRequest


class RequestBytes:
    """A cell's requests as bytes, for whichever target gets them.

    Bodies are encoded once, before the clock starts; the few hundred bytes of a head are put before one when its
    target is known, at its send.
    """

    def __init__(self, targets: Sequence[Target], planned: Sequence[PlannedRequest]) -> None:
        self._heads = {target: _head(target) for target in targets}
        self._bodies = {
            (model, form): {request.index: msgspec.json.encode(body(model, form, request)) for request in planned}
            for model, form in {(target.model, target.form) for target in targets}
        }

    def to(self, target: Target, index: int) -> bytes:
        """Return the whole request of that index: head and JSON body."""
        content = self.content(target, index)
        return b"%b%d\r\n\r\n%b" % (self._heads[target], len(content), content)

    def content(self, target: Target, index: int) -> bytes:
        """Return the JSON body alone."""
        return self._bodies[target.model, target.form][index]


def body(model: str, form: RequestForm, planned: PlannedRequest) -> dict[str, Any]:
    """Return the body that makes every arm do equal work.

    Token ids leave nothing for a tokeniser to change. ``ignore_eos`` with ``max_tokens`` forces the length;
    ``min_tokens`` would as well, but adds a logits processor to each step of some engines and so changes what
    is measured. Both are beyond the OpenAI API, as are usage counts in every chunk: a form whose length is not forced
    sends neither.
    """
    asked = {
        "model": model,
        **_prompt(form, planned),
        "max_tokens": planned.output_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if not form.forced_length:
        return asked
    return asked | {
        "ignore_eos": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }


def _prompt(form: RequestForm, planned: PlannedRequest) -> dict[str, Any]:
    if form.prompt == "token_ids":
        return {"prompt": planned.prompt}
    messages = planned.messages or (Message("user", as_words(planned.prompt)),)
    if form.api == "chat":
        return {"messages": [{"role": role, "content": content} for role, content in messages]}
    return {"prompt": as_text(messages)}


def headers(target: Target) -> dict[str, str]:
    """Return a request's headers, but for the length of its body."""
    said = {
        "Host": target.authority,
        "User-Agent": "whichbits",
        "Accept": "text/event-stream",
        # A compressed stream is held back by the compressor, and its times are the compressor's.
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
    }
    return said if target.api_key is None else said | {"Authorization": f"Bearer {target.api_key}"}


def _head(target: Target) -> bytes:
    """Return the head up to the length of the body."""
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers(target).items())]
    return "\r\n".join([*lines, "Content-Length: "]).encode()

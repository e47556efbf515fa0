"""A planned request as the bytes of an HTTP/1.1 request, made before the clock starts."""

from collections.abc import Sequence
from typing import Any

import msgspec

from whichbits.drive.target import Target
from whichbits.traffic.plan import PlannedRequest


class RequestBytes:
    """A cell's requests as bytes, for whichever target gets them.

    Bodies are encoded once, before the clock starts; the few hundred bytes of a head are put before one when its
    target is known, at its send.
    """

    def __init__(self, targets: Sequence[Target], planned: Sequence[PlannedRequest]) -> None:
        models = {target.model for target in targets}
        self._heads = {target: _head(target) for target in targets}
        self._bodies = {
            model: {request.index: msgspec.json.encode(completion_body(model, request)) for request in planned}
            for model in models
        }

    def to(self, target: Target, index: int) -> bytes:
        """Return the whole request of that index: head and JSON body."""
        body = self._bodies[target.model][index]
        return b"%b%d\r\n\r\n%b" % (self._heads[target], len(body), body)


def completion_body(model: str, planned: PlannedRequest) -> dict[str, Any]:
    """Return the completions body that makes every arm do equal work.

    Token ids leave nothing for a tokeniser to change. ``ignore_eos`` with ``max_tokens`` forces the length;
    ``min_tokens`` would as well, but adds a logits processor to each step of some engines and so changes what
    is measured.
    """
    return {
        "model": model,
        "prompt": planned.prompt,
        "max_tokens": planned.output_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }


def _head(target: Target) -> bytes:
    """Return the head up to the length of the body."""
    lines = [
        f"POST {target.path} HTTP/1.1",
        f"Host: {target.authority}",
        "User-Agent: whichbits",
        "Accept: text/event-stream",
        # A compressed stream is held back by the compressor, and its times are the compressor's.
        "Accept-Encoding: identity",
        "Content-Type: application/json",
    ]
    if target.api_key is not None:
        lines.append(f"Authorization: Bearer {target.api_key}")
    return "\r\n".join([*lines, "Content-Length: "]).encode()

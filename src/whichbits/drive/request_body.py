"""A planned request as the bytes of an HTTP/1.1 request, made before the clock starts."""

from typing import Any

import msgspec

from whichbits.drive.target import Target
from whichbits.traffic.plan import PlannedRequest


def request_bytes(target: Target, planned: PlannedRequest) -> bytes:
    """Return the whole request: head and JSON body."""
    body = msgspec.json.encode(completion_body(target.model, planned))
    return _head(target, len(body)) + body


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


def _head(target: Target, body_bytes: int) -> bytes:
    lines = [
        f"POST {target.path} HTTP/1.1",
        f"Host: {target.authority}",
        "User-Agent: whichbits",
        "Accept: text/event-stream",
        # A compressed stream is held back by the compressor, and its times are the compressor's.
        "Accept-Encoding: identity",
        "Content-Type: application/json",
        f"Content-Length: {body_bytes}",
    ]
    if target.api_key is not None:
        lines.append(f"Authorization: Bearer {target.api_key}")
    return "\r\n".join([*lines, "", ""]).encode()

"""Everything that a mock answers at once: who it is, its counters, its tokeniser, and the truth."""

from collections.abc import Callable, Mapping

import msgspec

from whichbits.serve.mock.engine.desk import Desk
from whichbits.serve.mock.http.exposition import exposition
from whichbits.serve.mock.messages.answers import page
from whichbits.serve.mock.messages.asked import Refused, Wire, read_body

OWNER = "whichbits-mock"
"""Says in /v1/models what it is, under whatever name it serves."""
_LONGEST = 1_048_576


def answer_at_once(desk: Desk, wire: Wire) -> bytes:
    """Return the whole HTTP answer to a request that is no completion. Raises Refused."""
    found = _PAGES.get((wire.method, wire.path))
    if found is None:
        raise Refused(404, f"the mock has no {wire.method} {wire.path}")
    return found(desk, wire)


def _models(desk: Desk, _: Wire) -> bytes:
    card = {"id": desk.settings.model, "object": "model", "owned_by": OWNER, "max_model_len": _LONGEST}
    return _json({"object": "list", "data": [card]})


def _health(_desk: Desk, _: Wire) -> bytes:
    return page(200, b"")


def _metrics(desk: Desk, _: Wire) -> bytes:
    return page(200, exposition(desk), b"text/plain; version=0.0.4")


def _tokenize(_desk: Desk, wire: Wire) -> bytes:
    body = read_body(wire.body)
    ids = body.prompt_ids() if body.prompt or body.messages else []
    return _json({"count": len(ids), "max_model_len": _LONGEST, "tokens": ids})


def _reset(desk: Desk, _: Wire) -> bytes:
    desk.prefixes.empty()
    return _json({"success": True})


def _version(_desk: Desk, _: Wire) -> bytes:
    return _json({"version": OWNER})


def _truth(desk: Desk, _: Wire) -> bytes:
    return page(200, desk.truth.page())


def _empty_truth(desk: Desk, _: Wire) -> bytes:
    desk.truth.empty()
    return _json({"success": True})


_PAGES: Mapping[tuple[str, str], Callable[[Desk, Wire], bytes]] = {
    ("GET", "/health"): _health,
    ("GET", "/version"): _version,
    ("GET", "/v1/models"): _models,
    ("GET", "/metrics"): _metrics,
    ("GET", "/truth"): _truth,
    ("DELETE", "/truth"): _empty_truth,
    ("POST", "/tokenize"): _tokenize,
    ("POST", "/reset_prefix_cache"): _reset,
}


def refusal(error: Refused, retry_after: bool = False) -> bytes:
    """Return an error answer as the OpenAI API shapes it."""
    told = {"error": {"message": str(error), "type": "mock", "param": None, "code": error.status}}
    return page(error.status, msgspec.json.encode(told), more=b"Retry-After: 1\r\n" if retry_after else b"")


def _json(value: object) -> bytes:
    return page(200, msgspec.json.encode(value))

"""What a self-test comes to: the limits, whether the client's own verdicts were right, and one sentence."""

from collections.abc import Sequence
from typing import Any

import msgspec

from whichbits.conduct.self_test.ladder import Climb
from whichbits.conduct.self_test.rung import COARSE_MS, EXACT_MS, Rung
from whichbits.language.amounts import amount

SCHEMA_VERSION = 1
_WITHIN: dict[str, tuple[float, tuple[str, ...]]] = {
    "exact": (EXACT_MS, ("exact",)),
    "coarse": (COARSE_MS, ("exact", "coarse")),
}
_WHY_ENDED = {
    "client": "beyond it the client is late, or says that it may be",
    "mock": "beyond it the mock itself was late, so the client may do more",
    "time": "the time was over, so the client may do more",
    "streams": "the ladder ends there, so the client may do more",
}


def limit(climbs: Sequence[Climb], within: str) -> Rung | None:
    """Return the highest rung that held in every cadence: of each cadence's limit the one with fewest streams."""
    _, judgements = _WITHIN[within]
    limits = [climb.limit(judgements) for climb in climbs]
    found = [each for each in limits if each is not None]
    return min(found, key=lambda rung: rung.streams) if len(found) == len(limits) else None


def verdicts_right(climbs: Sequence[Climb]) -> bool:
    """Return whether the client called itself good only where it was."""
    return all(rung.verdict_right for climb in climbs for rung in climb.rungs)


def sentences(climbs: Sequence[Climb]) -> tuple[str, ...]:
    """Return the limits in words, the tighter bound first."""
    return tuple(_sentence(climbs, within, bound) for within, (bound, _) in _WITHIN.items())


def _sentence(climbs: Sequence[Climb], within: str, bound: float) -> str:
    found = limit(climbs, within)
    if found is None and any(climb.end == "mock" and not climb.limit(_WITHIN["coarse"][1]) for climb in climbs):
        return f"No limit within {bound:g} ms was found: the mock was late itself, since the machine is busy."
    if found is None and any(climb.end == "time" for climb in climbs):
        return f"No limit within {bound:g} ms was found: the time was over before a rung held."
    if found is None:
        fewest = min(rung.streams for climb in climbs for rung in climb.rungs)
        at = amount(fewest, "stream")
        return f"Not even at {at} are 99 % of this client's times within {bound:g} ms on this machine."
    words = (
        f"On this machine 99 % of this client's times are within {bound:g} ms up to {amount(found.streams, 'stream')}, "
        f"{found.tokens_per_s:,.0f} tokens/s"
    )
    return f"{words}; {_why(climbs, found, within)}."


def _why(climbs: Sequence[Climb], found: Rung, within: str) -> str:
    """Say why it is no more: of the cadence that gave the limit."""
    climb = next(each for each in climbs if each.cadence == found.cadence)
    last = climb.rungs[-1].streams == found.streams
    if within == "exact" and not last and climb.limit(("exact", "coarse")) != found:
        return f"beyond it they are within {COARSE_MS:g} ms"
    return _WHY_ENDED[climb.end]


def as_object(climbs: Sequence[Climb]) -> dict[str, Any]:
    """Return what ``--json`` prints; keys are only added, never renamed."""
    return {
        "schema_version": SCHEMA_VERSION,
        "bounds_ms": {within: bound for within, (bound, _) in _WITHIN.items()},
        "limits": {within: _limit_object(limit(climbs, within)) for within in _WITHIN},
        "verdicts_right": verdicts_right(climbs),
        "ends": {climb.cadence: climb.end for climb in climbs},
        "rungs": [_rung_object(rung) for climb in climbs for rung in climb.rungs],
        "sentences": list(sentences(climbs)),
    }


def _limit_object(rung: Rung | None) -> dict[str, Any] | None:
    return None if rung is None else {"streams": rung.streams, "tokens_per_s": rung.tokens_per_s}


def _rung_object(rung: Rung) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(rung)
    return told | {
        "judgement": rung.judgement,
        "verdict_right": rung.verdict_right,
        "mock_was_late": rung.mock_was_late,
    }

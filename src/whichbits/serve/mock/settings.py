"""What a mock can be told: its pace, its shape of stream, its slots, and its faults."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal

import msgspec

from whichbits.errors import BadInput
from whichbits.serve.mock.faults import Fault, parse_faults

Cadence = Literal["spread", "steps"]
UsageStyle = Literal["asked", "continuous", "final", "none"]
RoleChunk = Literal["with_token", "early", "none"]

MODEL = "whichbits-mock"

_MOST = 10**9
"""Of any number: as milliseconds eleven days, and still far from where nanoseconds overflow."""


@dataclass(frozen=True)
class MockSettings:
    """How a mock answers. Times are milliseconds; nothing drifts, since every send has an absolute deadline.

    Attributes:
        model: The name that it serves; the default says what it is.
        ttft_ms: From the moment a request has a slot to its first token.
        ttft_per_token_ms: Added to that for each prompt token that no cache holds.
        itl_ms: From one send of a stream to its next.
        itl_per_running_ms: Added to that for each request that holds a slot: itl = a + b x batch.
        jitter: Each gap varies uniformly by this share of it, both ways; drawn from the seed.
        seed: Of jitter, and of which requests a share of faults falls on.
        cadence: spread gives every stream its own phase; steps gives all their token at the same instant.
        tokens_per_chunk: Tokens of one event, as with speculative decoding.
        events_per_send: Events held back and sent together at the time of the last, as a buffering proxy does.
        usage: continuous, final or none, or as each request asks.
        role_chunk: Of the chat API: with the first token, early with the headers, or none.
        reasoning_tokens: Of the chat API: so many first tokens come as reasoning_content.
        slots: Most requests that run at once; others wait. 0 is no bound.
        prefix_cache: Remember prompts in blocks of 16 tokens, which then cost no ttft_per_token_ms.
        faults: Such as "status=503@10%" or "cut=5@3,7"; several with blanks between them.
        truth_requests: Of how many of the latest requests the send times are kept.
    """

    model: str = MODEL
    ttft_ms: float = 50.0
    ttft_per_token_ms: float = 0.0
    itl_ms: float = 20.0
    itl_per_running_ms: float = 0.0
    jitter: float = 0.0
    seed: int = 0
    cadence: Cadence = "spread"
    tokens_per_chunk: int = 1
    events_per_send: int = 1
    usage: UsageStyle = "asked"
    role_chunk: RoleChunk = "with_token"
    reasoning_tokens: int = 0
    slots: int = 0
    prefix_cache: bool = False
    faults: str = ""
    truth_requests: int = 100_000

    def __post_init__(self) -> None:
        """Raise BadInput for numbers that make no server."""
        least = {
            "ttft_ms": 0,
            "ttft_per_token_ms": 0,
            "itl_ms": 0,
            "itl_per_running_ms": 0,
            "jitter": 0,
            "seed": 0,
            "tokens_per_chunk": 1,
            "events_per_send": 1,
            "reasoning_tokens": 0,
            "slots": 0,
            "truth_requests": 0,
        }
        for name, bound in least.items():
            if not getattr(self, name) >= bound:
                raise _unusable(name, f"{getattr(self, name)} is below {bound}")
            if getattr(self, name) > _MOST:
                raise _unusable(name, f"{getattr(self, name)} is above {_MOST}")
        if self.jitter > 1:
            raise _unusable("jitter", f"{self.jitter} is more than the whole gap, 1")
        if self.cadence == "steps" and self.itl_ms + self.itl_per_running_ms <= 0:
            raise _unusable("itl_ms", "steps need a length")
        parse_faults(self.faults)

    @property
    def ordered_faults(self) -> tuple[Fault, ...]:
        """The faults as read."""
        return parse_faults(self.faults)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "MockSettings":
        """Return the settings that a study's options name.

        Raises:
            BadInput: an option is unknown, or of another type or range.
        """
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise _unknown(name, known)
        try:
            return msgspec.convert(dict(options), cls)
        except msgspec.ValidationError as error:
            raise BadInput(
                "mock_option",
                f"the mock cannot use its options: {error}",
                why="a value is of another kind than the option",
                fix="docs/mock.md lists every option with its default",
            ) from error


def _unknown(name: str, known: list[str]) -> BadInput:
    near = get_close_matches(name, known, n=1)
    return BadInput(
        "mock_option",
        f"the mock has no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        why="an option that is not understood would silently not be applied",
        fix=f"its options are {', '.join(known)}",
    )


def _unusable(name: str, reason: str) -> BadInput:
    return BadInput(
        "mock_option",
        f"{name}: {reason}",
        why="no server can keep such a pace",
        fix="docs/mock.md lists every option with its range",
    )

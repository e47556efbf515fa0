"""What a mock can be told: its pace, its shape of stream, its slots, and its faults."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin, get_type_hints

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
            BadInput: options are unknown, or of another type or range; all of them are named.
        """
        wrong = [said for name, value in options.items() if (said := _complaint(name, value)) is not None]
        if wrong:
            raise BadInput(
                "mock_option",
                f"the mock cannot use its options: {'; '.join(wrong)}",
                why="an option that is not understood would silently not be applied",
                fix="docs/mock.md lists every option with its default and range",
            )
        return msgspec.convert(dict(options), cls)


def _complaint(name: str, value: object) -> str | None:
    """Return what is wrong with one option, None if nothing is."""
    kinds = get_type_hints(MockSettings)
    if name not in kinds:
        near = get_close_matches(name, kinds, n=1)
        return f"no option {name!r} " + (f"(did you mean {near[0]!r}?)" if near else f"(they are {', '.join(kinds)})")
    if get_origin(kinds[name]) is Literal and value not in get_args(kinds[name]):
        return f"{name}: cannot be {value!r}: one of {', '.join(get_args(kinds[name]))}"
    try:
        msgspec.convert({name: value}, MockSettings)
    except msgspec.ValidationError as error:
        return f"{name}: {str(error).partition(' - at')[0].lower()}"
    except BadInput as error:
        return error.what
    return None


def _unusable(name: str, reason: str) -> BadInput:
    return BadInput(
        "mock_option",
        f"{name}: {reason}",
        why="no server can keep such a pace",
        fix="docs/mock.md lists every option with its range",
    )

"""The requests of a cell as plain columns: what a simulated engine needs of them, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from whichbits.traffic.request import PlannedRequest

ROUTED_TOKENS = 64
"""Token ids that a prefix-aware router looks at, as ``drive.routing`` does."""


@dataclass(frozen=True)
class Workload:
    """One entry a request, in the order in which they are sent. ``prefix`` is -1 where none is shared.

    ``offset_s`` is None in a closed loop. Later turns of sessions stand behind all requests that begin one: ``follows``
    has the place of the turn before, -1 where there is none, and is empty without sessions; such a request leaves
    ``think_s`` after that one has ended, and its prompt begins with that one's. ``own`` names what of a prompt only its
    session shares, where that is not the request's place. ``head`` holds the first token ids, for routers that hash
    them; it is empty where lengths alone were drawn.
    """

    index: Sequence[int]
    prompt_tokens: Sequence[int]
    output_tokens: Sequence[int]
    prefix: Sequence[int]
    prefix_tokens: int
    offset_s: Sequence[float] | None
    head: Sequence[tuple[int, ...]] = ()
    follows: Sequence[int] = ()
    think_s: Sequence[float] = ()
    own: Sequence[int] | None = None

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.prompt_tokens)

    @classmethod
    def of(cls, planned: Sequence[PlannedRequest], prefix_tokens: int = 0) -> Self:
        """Return the columns of ``planned``; ``prefix_tokens`` is how long a shared prefix is."""
        timed = any(request.offset_ns is not None for request in planned)
        order = sorted(planned, key=lambda request: (request.follows is not None, request.offset_ns or 0))
        sessions = _sessions(order) if order and order[-1].follows is not None else {}
        return cls(
            index=[request.index for request in order],
            prompt_tokens=[request.prompt_tokens for request in order],
            output_tokens=[request.output_tokens for request in order],
            prefix=[-1 if request.prefix is None else request.prefix for request in order],
            prefix_tokens=prefix_tokens,
            offset_s=[(request.offset_ns or 0) / 1e9 for request in order] if timed else None,
            head=[request.head(ROUTED_TOKENS) for request in order],
            **sessions,
        )

    @property
    def beginnings(self) -> int:
        """How many requests follow no other: they stand first."""
        return len(self) - sum(place >= 0 for place in self.follows)

    @cached_property
    def next_turn(self) -> Mapping[int, int]:
        """The turn after each turn that has one, by places."""
        return {before: place for place, before in enumerate(self.follows) if before >= 0}


def _sessions(order: Sequence[PlannedRequest]) -> dict[str, Any]:
    """Return the columns that only sessions have; a session is named by the place of its first turn."""
    places = {request.index: place for place, request in enumerate(order)}
    follows = [-1 if request.follows is None else places[request.follows] for request in order]
    own: dict[int, int] = {}
    for place in sorted(places.values(), key=lambda at: order[at].index):
        own[place] = place if follows[place] < 0 else own[follows[place]]
    return {
        "follows": follows,
        "think_s": [request.think_ns / 1e9 for request in order],
        "own": [own[place] for place in range(len(order))],
    }

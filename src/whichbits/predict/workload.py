"""The requests of a cell as plain columns: what a simulated engine needs of them, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from whichbits.traffic.plan import PlannedRequest

ROUTED_TOKENS = 64
"""Token ids that a prefix-aware router looks at, as ``drive.routing`` does."""


@dataclass(frozen=True)
class Workload:
    """One entry a request, in the order in which they are sent. ``prefix`` is -1 where none is shared.

    ``offset_s`` is None in a closed loop. ``head`` holds the first token ids, for routers that hash them; it is empty
    where lengths alone were drawn.
    """

    index: Sequence[int]
    prompt_tokens: Sequence[int]
    output_tokens: Sequence[int]
    prefix: Sequence[int]
    prefix_tokens: int
    offset_s: Sequence[float] | None
    head: Sequence[tuple[int, ...]] = ()

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.prompt_tokens)

    @classmethod
    def of(cls, planned: Sequence[PlannedRequest], prefix_tokens: int = 0) -> Self:
        """Return the columns of ``planned``; ``prefix_tokens`` is how long a shared prefix is."""
        timed = any(request.offset_ns is not None for request in planned)
        order = sorted(planned, key=lambda request: request.offset_ns or 0) if timed else planned
        return cls(
            index=[request.index for request in order],
            prompt_tokens=[request.prompt_tokens for request in order],
            output_tokens=[request.output_tokens for request in order],
            prefix=[-1 if request.prefix is None else request.prefix for request in order],
            prefix_tokens=prefix_tokens,
            offset_s=[(request.offset_ns or 0) / 1e9 for request in order] if timed else None,
            head=[request.head(ROUTED_TOKENS) for request in order],
        )

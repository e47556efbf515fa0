"""A plan as it travels to a worker: token ids as one array, a tenth of what a tuple of numbers takes to send."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Self

import numpy as np

from whichbits.traffic.draws import Integers
from whichbits.traffic.request import PlannedRequest


@dataclass(frozen=True)
class PackedPlan:
    """Requests without their token ids, and these behind each other."""

    requests: tuple[PlannedRequest, ...]
    lengths: Integers
    ids: "np.typing.NDArray[np.int32]"

    @classmethod
    def of(cls, planned: Sequence[PlannedRequest]) -> Self:
        """Pack requests."""
        lengths = np.array([len(request.prompt) for request in planned], dtype=np.int64)
        every_id = chain.from_iterable(request.prompt for request in planned)
        ids = np.fromiter(every_id, dtype=np.int32, count=int(lengths.sum()))
        return cls(tuple(replace(request, prompt=()) for request in planned), lengths, ids)

    def unpacked(self) -> tuple[PlannedRequest, ...]:
        """Return the requests as they were. Equal ids are one number in memory: 8 bytes an id, not 40."""
        low = int(self.ids.min(initial=0))
        numbers = np.arange(low, int(self.ids.max(initial=0)) + 1).astype(object)
        ends = np.concatenate([[0], np.cumsum(self.lengths)]).tolist()
        return tuple(
            replace(request, prompt=tuple(numbers[self.ids[first:end] - low]))
            for request, (first, end) in zip(self.requests, pairwise(ends), strict=True)
        )

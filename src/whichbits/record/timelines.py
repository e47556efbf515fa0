"""The requests of a cell as numpy arrays, so that no analyzer loops over requests or chunks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whichbits.record.arrays import booleans, floats, integers

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Timelines:
    """One entry a request, ``chunk_*`` one entry a chunk; NaN is missing.

    The chunks of request ``i`` are ``chunk_ns[offsets[i]:offsets[i + 1]]``. Times are nanoseconds against
    the run's origin, held as float64, which is exact up to 2**53 ns (104 days).
    """

    succeeded: Booleans
    scheduled_ns: Floats
    sent_ns: Floats
    finished_ns: Floats
    prompt_tokens: Floats
    cached_tokens: Floats
    output_tokens: Floats
    chunk_ns: Ints
    chunk_tokens: Ints
    offsets: Ints

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        """Return the rows of a requests table, in their order."""
        plain = ("scheduled_ns", "sent_ns", "finished_ns", "prompt_tokens", "cached_tokens", "output_tokens")
        return cls(
            succeeded=booleans(pc.is_null(table["error_code"])),
            chunk_ns=integers(pc.list_flatten(table["chunk_ns"])),
            chunk_tokens=integers(pc.list_flatten(table["chunk_tokens"])),
            offsets=_offsets(table["chunk_ns"]),
            **{name: floats(table[name]) for name in plain},
        )

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.succeeded)

    @property
    def chunks(self) -> Ints:
        """Chunks of each request."""
        return np.diff(self.offsets)

    @cached_property
    def request_of_chunk(self) -> Ints:
        """The request of each chunk."""
        return np.repeat(np.arange(len(self)), self.chunks)

    @cached_property
    def gap_ends(self) -> Ints:
        """The chunks that end a gap: all of each answer that succeeded, but for its first."""
        request = self.request_of_chunk
        return np.flatnonzero((request[1:] == request[:-1]) & self.succeeded[request[1:]]) + 1

    @property
    def first_chunk_ns(self) -> Floats:
        """Time of each request's first content chunk."""
        return self._chunk_at(self.offsets[:-1])

    @property
    def last_chunk_ns(self) -> Floats:
        """Time of each request's last content chunk."""
        return self._chunk_at(self.offsets[1:] - 1)

    def _chunk_at(self, position: Ints) -> Floats:
        times = np.full(len(self), np.nan)
        answered = self.chunks > 0
        times[answered] = self.chunk_ns[position[answered]]
        return times


def _offsets(column: "pa.ChunkedArray[Any]") -> Ints:
    return np.concatenate([[0], np.cumsum(integers(pc.list_value_length(column)))])

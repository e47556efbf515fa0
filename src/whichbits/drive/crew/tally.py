"""What is counted of a cell while its requests end, so that nobody needs their timelines to judge it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from whichbits.record.schema import RequestRecord

SAMPLE = 10_000
"""Values that a sample holds at most: its median is then within half a percent of rank of the whole's."""


@dataclass
class Sample:
    """Some of many values, evenly spaced in their order: all of them up to SAMPLE, then every second, fourth ..."""

    values: list[float] = field(default_factory=list)
    _every: int = field(default=1, compare=False)
    _seen: int = field(default=0, compare=False)

    def add(self, value: float) -> None:
        """Take a value, or pass it over."""
        if self._seen % self._every == 0:
            self.values.append(value)
        self._seen += 1
        if len(self.values) > SAMPLE:
            self.values, self._every = self.values[::2], self._every * 2


@dataclass
class Tally:
    """Counts over requests that ended; times are nanoseconds.

    ``answered`` requests had a content chunk: their TTFT is from the schedule, their E2E from the send to the end.
    """

    requests: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    first_error: str | None = None
    output_tokens: int = 0
    sent: int = 0
    first_sent_ns: int | None = None
    last_sent_ns: int | None = None
    gaps: int = 0
    gap_span_ns: int = 0
    answered: int = 0
    e2e_ns: int = 0
    ttft_ns: Sample = field(default_factory=Sample)
    tpot_ns: Sample = field(default_factory=Sample)

    @property
    def failed(self) -> int:
        """Requests that did not succeed, but for those that the user's stop cut off."""
        return self.errors.total() - self.errors["cancelled"]

    @property
    def served(self) -> int:
        """Requests that succeeded."""
        return self.requests - self.errors.total()

    def add(self, records: Iterable[RequestRecord]) -> None:
        """Count requests that are over."""
        for record in records:
            self._add(record)

    def _add(self, record: RequestRecord) -> None:
        self.requests += 1
        if record.error_code is not None:
            self.errors[record.error_code] += 1
            self.first_error = self.first_error or record.error
        if record.sent_ns is not None:
            self.sent += 1
            self.first_sent_ns = min(record.sent_ns, self.first_sent_ns or record.sent_ns)
            self.last_sent_ns = max(record.sent_ns, self.last_sent_ns or record.sent_ns)
        if record.chunk_ns:
            self._add_answer(record)

    def _add_answer(self, record: RequestRecord) -> None:
        tokens = sum(record.chunk_tokens)
        span_ns = record.chunk_ns[-1] - record.chunk_ns[0]
        self.output_tokens += tokens
        self.gaps += len(record.chunk_ns) - 1
        self.gap_span_ns += span_ns
        self.ttft_ns.add(record.chunk_ns[0] - record.scheduled_ns)
        if record.sent_ns is not None and record.finished_ns is not None:
            self.answered += 1
            self.e2e_ns += record.finished_ns - record.sent_ns
        if record.succeeded and tokens > 1:
            self.tpot_ns.add(span_ns / (tokens - 1))


def together(tallies: Sequence[Tally]) -> Tally:
    """Return the tally of all: counts are summed, samples are put side by side.

    Workers of a cell send alike numbers, so their samples are thinned alike within a factor of two.
    """
    first = [tally.first_sent_ns for tally in tallies if tally.first_sent_ns is not None]
    last = [tally.last_sent_ns for tally in tallies if tally.last_sent_ns is not None]
    return Tally(
        requests=sum(tally.requests for tally in tallies),
        errors=sum((tally.errors for tally in tallies), Counter()),
        first_error=next((tally.first_error for tally in tallies if tally.first_error), None),
        output_tokens=sum(tally.output_tokens for tally in tallies),
        sent=sum(tally.sent for tally in tallies),
        first_sent_ns=min(first, default=None),
        last_sent_ns=max(last, default=None),
        gaps=sum(tally.gaps for tally in tallies),
        gap_span_ns=sum(tally.gap_span_ns for tally in tallies),
        answered=sum(tally.answered for tally in tallies),
        e2e_ns=sum(tally.e2e_ns for tally in tallies),
        ttft_ns=Sample([value for tally in tallies for value in tally.ttft_ns.values]),
        tpot_ns=Sample([value for tally in tallies for value in tally.tpot_ns.values]),
    )

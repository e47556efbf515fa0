"""Requests that are over: made into records when there is time, handed to the lead, and forgotten."""

from collections import deque

from whichbits.drive.answer.exchange import Exchange
from whichbits.drive.answer.outcome import to_record
from whichbits.drive.answer.reader import Answer
from whichbits.drive.part import Lead
from whichbits.record.schema import RequestRecord

_MOST_WAITING = 1024
_BATCH = 256


class Finished:
    """The way from an exchange to its record, and what the self-check keeps of both."""

    def __init__(self, lead: Lead, origin_ns: int) -> None:
        self._lead = lead
        self._origin_ns = origin_ns
        self._over: deque[tuple[Exchange, Answer]] = deque()
        self._records: list[RequestRecord] = []
        self.gaps = self.short_gaps = self.merged_gaps = 0
        self.late_connect_ns: dict[int, int] = {}

    def add(self, exchange: Exchange, answer: Answer) -> None:
        self._over.append((exchange, answer))
        self.gaps += answer.separate_gaps
        self.short_gaps += answer.short_gaps
        self.merged_gaps += answer.merged_gaps
        if exchange.connect_ns is not None:
            self.late_connect_ns[exchange.index] = exchange.connect_ns
        if len(self._over) > _MOST_WAITING:
            self.work()

    @property
    def has_work(self) -> bool:
        return bool(self._over)

    def work(self) -> None:
        """Make one record."""
        exchange, answer = self._over.popleft()
        self._records.append(to_record(exchange, answer, self._origin_ns))
        if len(self._records) >= _BATCH:
            self.hand_over()

    def hand_over(self) -> None:
        """Give the records that are made to the lead."""
        if self._records:
            records, self._records = self._records, []
            self._lead.keep(records)

    def hand_all_over(self) -> None:
        """Make and give all that is left."""
        while self._over:
            self.work()
        self.hand_over()

"""A day in virtual time: arrivals that are made as they come, and requests that are counted and forgotten as they end.

Every request in flight has a slot in the columns that the simulation reads; whoever comes next takes over the slot of
one that ended. So memory follows from the requests in flight, not from those of a day. Prompts share no prefixes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import nan

from whichbits.predict.answers import Answers
from whichbits.predict.clients import Send
from whichbits.predict.engine import Replica
from whichbits.predict.routers import LeastOutstanding, Router
from whichbits.predict.simulate import Fleet, Stage, new_pools
from whichbits.predict.tally import Tally
from whichbits.predict.workload import Workload

Arrival = tuple[float, int, int]
"""When a request comes, in seconds, and its prompt and answer in tokens. Arrivals are in order of time."""


@dataclass
class Day:
    """What a fleet's requests waited, in ms; TPOT of answers of two tokens and more."""

    ttft_ms: Tally = field(default_factory=Tally)
    tpot_ms: Tally = field(default_factory=Tally)
    e2e_ms: Tally = field(default_factory=Tally)
    output_tokens: int = 0
    most_in_flight: int = 0

    def merge(self, other: "Day") -> None:
        """Add another part of the same fleet; the most in flight of parts need not have been at one time."""
        for mine, theirs in ((self.ttft_ms, other.ttft_ms), (self.tpot_ms, other.tpot_ms), (self.e2e_ms, other.e2e_ms)):
            mine.merge(theirs)
        self.output_tokens += other.output_tokens
        self.most_in_flight += other.most_in_flight


class RoundRobin:
    """Replicas take turns."""

    def __init__(self, replicas: int) -> None:
        self._replicas = replicas
        self._turn = -1

    def choose(self, request: int) -> int:  # noqa: ARG002
        self._turn = (self._turn + 1) % self._replicas
        return self._turn

    def ended(self, replica: int) -> None:
        """Go on in turn."""


STREAM_ROUTERS: Mapping[str, Callable[[int], Router]] = {
    "round_robin": RoundRobin,
    "least_outstanding": LeastOutstanding,
}
"""The balances that need to know nothing of a request before it comes."""


def play_day(fleet: Fleet, arrivals: Iterator[Arrival]) -> Day:
    """Play arrivals to the end of the last and return what was waited for.

    ``fleet.balance`` is one of ``STREAM_ROUTERS``. A fleet that takes turns may be played in parts, one after the other
    or in processes: every n-th arrival for every n-th replica.
    """
    slots = _Slots(arrivals, fleet.server.pace.token_out)
    pace, limits = fleet.server.pace, fleet.server.limits
    replicas = [Replica((pace, limits), pool, slots.work, slots.answers) for pool in new_pools(fleet, slots.work)]
    router = STREAM_ROUTERS[fleet.balance](fleet.replicas)
    Stage(slots.answers, slots, router, replicas, pace.token_out).play()
    return slots.day


class _Slots:
    """An open loop whose requests live in slots; counts those that end."""

    def __init__(self, arrivals: Iterator[Arrival], token_out: float) -> None:
        self.scheduled_s: list[float] = []
        self.day = Day()
        self._arrivals, self._out = arrivals, token_out
        self._prompt: list[int] = []
        self._output: list[int] = []
        self._prefix: list[int] = []
        self._free: list[int] = []
        self.work = Workload((), self._prompt, self._output, self._prefix, 0, None)
        self.answers = Answers.to(self.work, keep_steps=False)

    def opening(self) -> list[Send]:
        first = self.following(-1)
        return [] if first is None else [first]

    def following(self, request: int) -> Send | None:  # noqa: ARG002 - the next is whoever comes next
        arrival = next(self._arrivals, None)
        if arrival is None:
            return None
        at_s = arrival[0]
        slot = self._free.pop() if self._free else self._new_slot()
        self.scheduled_s[slot], self._prompt[slot], self._output[slot] = arrival
        self.answers.first_s[slot] = nan
        return (at_s, slot)

    def ended(self, now: float, request: int) -> Send | None:
        day, output = self.day, self._output[request]
        first, scheduled = self.answers.first_s[request] + self._out, self.scheduled_s[request]
        day.ttft_ms.add(1e3 * (first - scheduled))
        day.e2e_ms.add(1e3 * (now - scheduled))
        if output > 1:
            day.tpot_ms.add(1e3 * (now - first) / (output - 1))
        day.output_tokens += output
        self._free.append(request)
        return None

    def _new_slot(self) -> int:
        """Lengthen every column by one."""
        self.scheduled_s.append(0.0)
        self._prompt.append(0)
        self._output.append(0)
        self._prefix.append(-1)
        self.answers.one_more()
        self.day.most_in_flight = len(self._prefix)
        return len(self._prefix) - 1

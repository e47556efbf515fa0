"""A day in virtual time: arrivals that are made as they come, and requests that are counted and forgotten as they end.

Every request in flight has a slot in the columns that the simulation reads; whoever comes next takes over the slot of
one that ended. So memory follows from the requests in flight and what caches hold, not from the requests of a day.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan

from whichbits.predict.simulation.answers import Answers
from whichbits.predict.simulation.clients import Send
from whichbits.predict.simulation.routers import ConnectionRandom, LeastOutstanding, Router, rendezvous
from whichbits.predict.simulation.simulate import Fleet, Rack, Stage, new_pools
from whichbits.predict.simulation.tally import Tally
from whichbits.predict.simulation.workload import Workload
from whichbits.traffic.draws import Draws

_DRAWN_AT_ONCE = 4096

Arrival = tuple[float, int, int, int]
"""When a request comes, in seconds, its prompt and answer in tokens, and its prefix's number, -1 if it shares none.

Arrivals are in order of time.
"""


@dataclass
class Day:
    """What a fleet's requests waited, in ms; TPOT of answers of two tokens and more."""

    ttft_ms: Tally = field(default_factory=Tally)
    tpot_ms: Tally = field(default_factory=Tally)
    e2e_ms: Tally = field(default_factory=Tally)
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    most_in_flight: int = 0

    def merge(self, other: "Day") -> None:
        """Add another part of the same fleet; the most in flight of parts need not have been at one time."""
        for mine, theirs in ((self.ttft_ms, other.ttft_ms), (self.tpot_ms, other.tpot_ms), (self.e2e_ms, other.e2e_ms)):
            mine.merge(theirs)
        self.prompt_tokens += other.prompt_tokens
        self.cached_tokens += other.cached_tokens
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


class Random:
    """Any replica, each as likely."""

    def __init__(self, replicas: int, seed: int) -> None:
        self._replicas, self._draws = replicas, Draws(seed, "route", "day")
        self._drawn: list[int] = []

    def choose(self, request: int) -> int:  # noqa: ARG002
        if not self._drawn:
            self._drawn = self._draws.integers(0, self._replicas, _DRAWN_AT_ONCE).tolist()
        return self._drawn.pop()

    def ended(self, replica: int) -> None:
        """Draw on."""


class PrefixHome:
    """Every prefix has its replica, by rendezvous; requests that share none are spread by theirs, which differ."""

    def __init__(self, replicas: int, prefix: Sequence[int]) -> None:
        self._replicas, self._prefix = replicas, prefix
        self._homes: dict[int, int] = {}
        self._alone = RoundRobin(replicas)

    def choose(self, request: int) -> int:
        prefix = self._prefix[request]
        if prefix < 0:
            return self._alone.choose(request)
        if prefix not in self._homes:
            self._homes[prefix] = rendezvous((prefix,), self._replicas)
        return self._homes[prefix]

    def ended(self, replica: int) -> None:
        """Homes stay where they are."""


STREAM_ROUTERS: Mapping[str, Callable[[Fleet, Sequence[int]], Router]] = {
    "round_robin": lambda fleet, _prefix: RoundRobin(fleet.replicas),
    "random": lambda fleet, _prefix: Random(fleet.replicas, fleet.seed),
    "connection_random": lambda fleet, _prefix: ConnectionRandom(fleet.replicas, fleet.seed),
    "least_outstanding": lambda fleet, _prefix: LeastOutstanding(fleet.replicas),
    "prefix_hash": lambda fleet, prefix: PrefixHome(fleet.replicas, prefix),
}
"""The balances under their usual names, made for a fleet and the prefixes of the requests in flight, by slot."""


def play_day(fleet: Fleet, arrivals: Iterator[Arrival], prefix_tokens: int = 0, *, counted_from_s: float = 0.0) -> Day:
    """Play arrivals to the end of the last and return what was waited for; shared prefixes have ``prefix_tokens``.

    Who comes before ``counted_from_s`` is played and not counted. So a day may be played in stretches of time, each in
    a process and from a while before its beginning on: a fleet that keeps up soon forgets how it began. One that takes
    turns may be played in parts exactly: every n-th arrival for every n-th replica.
    """
    slots = _Slots(arrivals, fleet.server.pace.token_out, prefix_tokens, counted_from_s)
    rack = Rack.of(fleet, new_pools(fleet, slots.work), slots.work, slots.answers)
    router = STREAM_ROUTERS[fleet.balance](fleet, slots.work.prefix)
    Stage(slots.answers, slots, router, rack, fleet.server.pace.token_out).play()
    return slots.day


class _Slots:
    """An open loop whose requests live in slots; counts those that end."""

    def __init__(
        self, arrivals: Iterator[Arrival], token_out: float, prefix_tokens: int, counted_from_s: float
    ) -> None:
        self.scheduled_s: list[float] = []
        self.day = Day()
        self._arrivals, self._out, self._from = arrivals, token_out, counted_from_s
        self._prompt: list[int] = []
        self._output: list[int] = []
        self._prefix: list[int] = []
        self._own: list[int] = []
        self._free: list[int] = []
        self._came = 0
        self.work = Workload((), self._prompt, self._output, self._prefix, prefix_tokens, None, own=self._own)
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
        self.scheduled_s[slot], self._prompt[slot], self._output[slot], self._prefix[slot] = arrival
        self._own[slot] = self._came
        self._came += 1
        self.answers.cached_tokens[slot] = 0
        self.answers.first_s[slot] = nan
        return (at_s, slot)

    def ended(self, now: float, request: int) -> Sequence[Send]:
        scheduled = self.scheduled_s[request]
        if scheduled >= self._from:
            self._count(now, request, scheduled)
        self._free.append(request)
        return ()

    def _count(self, now: float, request: int, scheduled: float) -> None:
        day, output = self.day, self._output[request]
        first = self.answers.first_s[request] + self._out
        day.ttft_ms.add(1e3 * (first - scheduled))
        day.e2e_ms.add(1e3 * (now - scheduled))
        if output > 1:
            day.tpot_ms.add(1e3 * (now - first) / (output - 1))
        day.prompt_tokens += self._prompt[request]
        day.cached_tokens += self.answers.cached_tokens[request]
        day.output_tokens += output

    def _new_slot(self) -> int:
        """Lengthen every column by one."""
        self.scheduled_s.append(0.0)
        self._prompt.append(0)
        self._output.append(0)
        self._prefix.append(-1)
        self._own.append(-1)
        self.answers.one_more()
        self.day.most_in_flight = len(self._prefix)
        return len(self._prefix) - 1

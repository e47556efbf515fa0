"""One cell in virtual time: a client, a router and replicas, from the first send to the last token."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from math import inf

from whichbits.predict.simulation.answers import Answers
from whichbits.predict.simulation.blocks import BlockPool
from whichbits.predict.simulation.cards import Cards, Placing
from whichbits.predict.simulation.clients import CappedLoop, Client, Send, client_for
from whichbits.predict.simulation.engine import Replica, Stretch
from whichbits.predict.simulation.pace import Pace
from whichbits.predict.simulation.routers import ROUTERS, Router
from whichbits.predict.simulation.scheduler import Limits
from whichbits.predict.simulation.sharing import SharingReplica
from whichbits.predict.simulation.workload import Workload


@dataclass(frozen=True)
class Server:
    """What one replica is: its pace, its limits, and its KV cache in blocks."""

    pace: Pace
    limits: Limits
    kv_blocks: int
    block_size: int = 16
    prefix_caching: bool = True


@dataclass(frozen=True)
class Fleet:
    """Replicas that are alike, and how requests find one. ``placing`` is None where each has GPUs of its own."""

    server: Server
    replicas: int = 1
    balance: str = "round_robin"
    seed: int = 0
    placing: Placing | None = None


@dataclass(frozen=True)
class Rack:
    """The servers of a fleet, and the GPUs that they share; None if each has its own."""

    replicas: Sequence[Replica]
    cards: Cards | None = None

    @classmethod
    def of(
        cls, fleet: Fleet, pools: Sequence[BlockPool], work: Workload, answers: Answers, *, keep_steps: bool = False
    ) -> "Rack":
        """Return servers that are idle; ``pools`` are their caches."""
        speed = (fleet.server.pace, fleet.server.limits)
        if fleet.placing is None:
            return cls([Replica(speed, pool, work, answers, keep_steps=keep_steps) for pool in pools])
        cards = Cards(fleet.placing)
        sharing = [
            SharingReplica(cards, at, speed, pool, work, answers, keep_steps=keep_steps)
            for at, pool in enumerate(pools)
        ]
        return cls(sharing, cards)


@dataclass(frozen=True)
class Played:
    """A cell that was played to its end. Lists have an entry a request; times in seconds as the client sees them."""

    work: Workload
    scheduled_s: Sequence[float]
    sent_s: Sequence[float]
    first_s: Sequence[float]
    last_s: Sequence[float]
    cached_tokens: Sequence[int]
    replica: Sequence[int]
    preemptions: int
    answers: Answers
    stretches: Sequence[Sequence[Stretch] | None]


def new_pools(fleet: Fleet, work: Workload, *, keeps_own: bool = False) -> list[BlockPool]:
    """Return the replicas' empty KV caches; ``keeps_own`` if the same prompts will be played again."""
    server, tokens = fleet.server, work.prefix_tokens
    return [
        BlockPool(
            server.kv_blocks,
            server.block_size,
            tokens,
            remembers=server.prefix_caching,
            keeps_own=keeps_own or bool(work.follows),
        )
        for _ in range(fleet.replicas)
    ]


def play(
    fleet: Fleet,
    work: Workload,
    concurrency: int | None,
    pools: Sequence[BlockPool] | None = None,
    *,
    keep_steps: bool = False,
) -> Played:
    """Play ``work`` to its end; ``pools`` carry over what an earlier play left in the caches.

    Every request must fit into an empty cache, or it would wait for ever.
    """
    out = fleet.server.pace.token_out
    answers = Answers.to(work, keep_steps=keep_steps)
    rack = Rack.of(fleet, pools or new_pools(fleet, work), work, answers, keep_steps=keep_steps)
    router = ROUTERS[fleet.balance](work, fleet.replicas, fleet.seed)
    stage = Stage(answers, client_for(work, concurrency), router, rack, out)
    stage.play()
    return Played(
        work=work,
        scheduled_s=stage.client.scheduled_s,
        sent_s=answers.sent_s,
        first_s=array("d", (first + out for first in answers.first_s)),
        last_s=array("d", (last + out for last in answers.last_s)),
        cached_tokens=answers.cached_tokens,
        replica=answers.replica,
        preemptions=sum(replica.preemptions for replica in rack.replicas),
        answers=answers,
        stretches=[replica.stretches for replica in rack.replicas],
    )


class Stage:
    """The event loop: what happens first, a send, an arrival at an engine, or the end of a replica's stretch."""

    def __init__(self, answers: Answers, client: Client, router: Router, rack: Rack, out: float) -> None:
        self.client = client
        self._sent_s, self._chosen, self._last_s = answers.sent_s, answers.replica, answers.last_s
        self._out, self._router, self._replicas = out, router, rack.replicas
        self._sends: list[Send] = client.opening()
        self._arrivals: list[Send] = []
        # When each replica's stretch ends. An entry whose time is not the replica's any more is passed over.
        self._ends: list[tuple[float, int]] = []
        self._only = rack.replicas[0] if len(rack.replicas) == 1 else None
        self._cards = rack.cards
        self._capped = client if isinstance(client, CappedLoop) else None

    def play(self) -> None:
        """Go from event to event until nothing is left to happen; of those at one time, sends come first."""
        sends, arrivals, ends, replicas, only = self._sends, self._arrivals, self._ends, self._replicas, self._only
        while True:
            while ends and ends[0][0] != replicas[ends[0][1]].until:
                heappop(ends)
            end = (ends[0][0] if ends else inf) if only is None else only.until
            send = sends[0][0] if sends else inf
            arrival = arrivals[0][0] if arrivals else inf
            if send <= arrival and send <= end and send < inf:
                self._send(*heappop(sends))
            elif arrival <= end and arrival < inf:
                self._arrive(*heappop(arrivals))
            elif end < inf:
                self._step(ends[0][1] if only is None else 0)
            else:
                return

    def _arrive(self, now: float, request: int) -> None:
        at = self._chosen[request]
        replica = self._replicas[at]
        before = replica.until
        replica.arrive(request, now)
        if self._only is None and replica.until != before:
            heappush(self._ends, (replica.until, at))
        if self._cards is not None:
            self._move_mates(self._cards)

    def _send(self, now: float, request: int) -> None:
        following = self.client.following(request)
        if following is not None:
            heappush(self._sends, following)
        if self._capped is not None and not self._capped.may_leave(request):
            return
        self._leave(now, request)

    def _leave(self, now: float, request: int) -> None:
        replicas = self._replicas
        at = self._router.choose(request)
        self._chosen[request] = at
        self._sent_s[request] = now
        heappush(self._arrivals, (replicas[at].take_in(now), request))

    def _step(self, at: int) -> None:
        replica = self._replicas[at]
        for request in replica.step():
            self._router.ended(at)
            seen = self._last_s[request] + self._out
            for following in self.client.ended(seen, request):
                if following[0] > seen:
                    heappush(self._sends, following)
                else:
                    self._leave(*following)
        if self._only is not None:
            return
        if replica.until < inf:
            heapreplace(self._ends, (replica.until, at))
        else:
            heappop(self._ends)
        if self._cards is not None:
            self._move_mates(self._cards)

    def _move_mates(self, cards: Cards) -> None:
        """Let steps end when they do, now that others on their GPUs have begun or ended."""
        for at in cards.take_moved():
            self._replicas[at].until = cards.end_of(at)
            heappush(self._ends, (self._replicas[at].until, at))

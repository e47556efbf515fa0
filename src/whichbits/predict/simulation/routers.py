"""Which replica answers, in virtual time: the policies of ``drive.routing`` under the same names."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Protocol

from whichbits.predict.simulation.workload import Workload
from whichbits.traffic.draws import Draws


class Router(Protocol):
    """Chooses a replica for each request, at the moment at which it leaves."""

    def choose(self, request: int) -> int:
        """Return the replica for ``request``."""
        ...

    def ended(self, replica: int) -> None:
        """Learn that a request of ``replica`` is over."""
        ...


class Planned:
    """Every request's replica is settled in advance."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._choices = choices

    def choose(self, request: int) -> int:
        return self._choices[request]

    def ended(self, replica: int) -> None:
        """Go on as planned."""


class LeastOutstanding:
    """The replica with the fewest requests, counted as they are sent; among equals they take turns.

    ``_levels`` has, for each number of requests, the replicas that have so many as bits of an integer, so that a choice
    takes the same time over three replicas and over hundreds.
    """

    def __init__(self, replicas: int) -> None:
        self._replicas = replicas
        self._counts = [0] * replicas
        self._levels = [(1 << replicas) - 1]
        self._lowest = self._turn = 0

    def choose(self, request: int) -> int:  # noqa: ARG002
        fewest = self._levels[self._lowest]
        following = fewest >> self._turn << self._turn or fewest
        chosen = (following & -following).bit_length() - 1
        self._move(chosen, 1)
        if not self._levels[self._lowest]:
            self._lowest += 1
        self._turn = (chosen + 1) % self._replicas
        return chosen

    def ended(self, replica: int) -> None:
        """Count a request less."""
        self._move(replica, -1)
        self._lowest = min(self._lowest, self._counts[replica])

    def _move(self, replica: int, by: int) -> None:
        count, bit = self._counts[replica], 1 << replica
        self._counts[replica] = count + by
        self._levels[count] ^= bit
        if count + by == len(self._levels):
            self._levels.append(0)
        self._levels[count + by] |= bit


class ConnectionRandom:
    """A request takes the connection that was used last, or opens one to a replica at random, as a Service does."""

    def __init__(self, replicas: int, seed: int) -> None:
        self._replicas = replicas
        self._draws = Draws(seed, "route", "connections")
        self._idle: list[int] = []

    def choose(self, request: int) -> int:  # noqa: ARG002
        return self._idle.pop() if self._idle else int(self._draws.integers(0, self._replicas, 1)[0])

    def ended(self, replica: int) -> None:
        self._idle.append(replica)


def _random(work: Workload, replicas: int, seed: int) -> Router:
    choices = Draws(seed, "route", "requests").integers(0, replicas, max(work.index, default=-1) + 1)
    return Planned([int(choices[index]) for index in work.index])


def _prefix_hash(work: Workload, replicas: int, seed: int) -> Router:  # noqa: ARG001
    homes = {head: rendezvous(head, replicas) for head in set(work.head)}
    return Planned([homes[head] for head in work.head])


def rendezvous(prefix: Sequence[int], replicas: int) -> int:
    """Return the replica with the highest hash together with ``prefix`` (Thaler and Ravishankar 1998)."""
    ids = array("q", prefix).tobytes()
    return max(range(replicas), key=lambda at: blake2b(ids, digest_size=8, salt=at.to_bytes(8)).digest())


ROUTERS: Mapping[str, Callable[[Workload, int, int], Router]] = {
    "round_robin": lambda work, replicas, _seed: Planned([index % replicas for index in work.index]),
    "random": _random,
    "least_outstanding": lambda _work, replicas, _seed: LeastOutstanding(replicas),
    "connection_random": lambda _work, replicas, seed: ConnectionRandom(replicas, seed),
    "prefix_hash": _prefix_hash,
}

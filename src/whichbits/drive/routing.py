"""Which replica answers: the balancer inside the client, so that no hop adds to TTFT and every replica is known.

Requests choose a *lane*, connections choose a *target*. A lane is a pool of connections that a request may take any
of. Where requests are balanced, each target has a lane of its own; where connections are, one lane leads to all.
"""

import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import blake2b
from typing import Protocol

from whichbits.errors import BadInput
from whichbits.traffic.draws import Draws
from whichbits.traffic.request import PlannedRequest

PREFIX_TOKENS = 64
"""Token ids that ``prefix_hash`` looks at: four KV-cache blocks of vLLM's usual 16."""

AVOID_SECONDS = 10.0
"""How long ``least_outstanding`` avoids a target that turned a request away; nginx's default ``fail_timeout``."""


@dataclass(frozen=True)
class Route:
    """How requests find a replica: the name of a policy in ROUTERS, and what it needs to repeat exactly.

    Raises:
        BadInput: no policy has that name, or ``prefix_tokens`` is not positive.
    """

    policy: str = "round_robin"
    seed: int = 0
    prefix_tokens: int = PREFIX_TOKENS

    def __post_init__(self) -> None:
        if self.policy not in ROUTERS:
            raise _unknown(self.policy)
        if self.prefix_tokens < 1:
            raise BadInput(
                "route_prefix_empty",
                f"prefix_tokens is {self.prefix_tokens}, but a prefix has at least one token.",
                why="With none, all prompts look alike and one replica gets every request.",
                fix=f"Leave it out for {PREFIX_TOKENS}, or give the length of the prefix that your requests share.",
            )

    def router(self, targets: int, planned: Sequence[PlannedRequest]) -> "Router":
        """Return the policy's router for ``planned`` over so many targets."""
        return ROUTERS[self.policy](self, targets, planned)


class Router(Protocol):
    """Routes one cell. Lanes and targets are numbers from 0; all calls come from the one event loop."""

    lanes: int

    def lane(self, planned: PlannedRequest) -> int:
        """Return the lane for a request that leaves now."""
        ...

    def target(self, lane: int) -> int:
        """Return the target for a new connection of ``lane``."""
        ...

    def most_in_flight(self, in_flight: int) -> Sequence[int]:
        """Return the most requests that each lane can hold at once while all hold ``in_flight``."""
        ...

    def ended(self, lane: int, *, turned_away: bool) -> None:
        """Learn that a request of ``lane`` is over; ``turned_away`` if it got no connection or not one byte."""
        ...


class PlannedRouter:
    """Every request's target is settled before the clock starts, and nothing that happens changes it."""

    def __init__(self, targets: int, choices: Mapping[int, int]) -> None:
        """``choices`` gives each request's target by its index."""
        self.lanes = targets
        self._choices = choices

    def lane(self, planned: PlannedRequest) -> int:
        return self._choices[planned.index]

    def target(self, lane: int) -> int:
        return lane

    def most_in_flight(self, in_flight: int) -> Sequence[int]:
        shares = [0] * self.lanes
        for choice in self._choices.values():
            shares[choice] += 1
        return [min(in_flight, share) for share in shares]

    def ended(self, lane: int, *, turned_away: bool) -> None:
        """Go on as before: a Service sends to a dead endpoint as well, until its probe fails."""


class LeastOutstanding:
    """Each request goes where the fewest are in flight; among equals the targets take turns.

    A target that fails fast always has the fewest in flight and would attract everything. So one that turned a
    request away is avoided for AVOID_SECONDS, unless all are.
    """

    def __init__(self, targets: int, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.lanes = targets
        self._clock_ns = clock_ns
        self._outstanding = [0] * targets
        self._avoided_until_ns = [clock_ns()] * targets
        self._turn = 0

    def lane(self, planned: PlannedRequest) -> int:  # noqa: ARG002 - every request is alike
        now_ns = self._clock_ns()
        everyone = range(self.lanes)
        welcoming = [target for target in everyone if self._avoided_until_ns[target] <= now_ns]
        chosen = min(welcoming or everyone, key=self._preference)
        self._outstanding[chosen] += 1
        self._turn = chosen + 1
        return chosen

    def target(self, lane: int) -> int:
        return lane

    def most_in_flight(self, in_flight: int) -> Sequence[int]:
        """Return an equal split, rounded up: a target with more than that never has the fewest."""
        return [-(-in_flight // self.lanes)] * self.lanes

    def ended(self, lane: int, *, turned_away: bool) -> None:
        self._outstanding[lane] -= 1
        if turned_away:
            self._avoided_until_ns[lane] = self._clock_ns() + round(AVOID_SECONDS * 1e9)

    def _preference(self, target: int) -> tuple[int, int]:
        return self._outstanding[target], (target - self._turn) % self.lanes


class ConnectionRandom:
    """Each new connection goes to a random target and stays there: what a Kubernetes Service does.

    Requests take whichever connection is idle, so the split follows connections, not requests, and lasts as long
    as the connections do.
    """

    lanes = 1

    def __init__(self, targets: int, seed: int) -> None:
        self._targets = targets
        self._draws = Draws(seed, "route", "connections")

    def lane(self, planned: PlannedRequest) -> int:  # noqa: ARG002 - every request is alike
        return 0

    def target(self, lane: int) -> int:  # noqa: ARG002 - there is one lane
        return int(self._draws.integers(0, self._targets, 1)[0])

    def most_in_flight(self, in_flight: int) -> Sequence[int]:
        return [in_flight]

    def ended(self, lane: int, *, turned_away: bool) -> None:
        """Go on as before: a Service sends to a dead endpoint as well, until its probe fails."""


def _round_robin(_route: Route, targets: int, planned: Sequence[PlannedRequest]) -> Router:
    return PlannedRouter(targets, {request.index: request.index % targets for request in planned})


def _random(route: Route, targets: int, planned: Sequence[PlannedRequest]) -> Router:
    # Drawn by index, so that a request's target does not depend on which others are sent.
    count = max((request.index for request in planned), default=-1) + 1
    choices = Draws(route.seed, "route", "requests").integers(0, targets, count)
    return PlannedRouter(targets, {request.index: int(choices[request.index]) for request in planned})


def _prefix_hash(route: Route, targets: int, planned: Sequence[PlannedRequest]) -> Router:
    prefixes = {request.index: request.head(route.prefix_tokens) for request in planned}
    homes = {prefix: rendezvous(prefix, targets) for prefix in set(prefixes.values())}
    return PlannedRouter(targets, {index: homes[prefix] for index, prefix in prefixes.items()})


def rendezvous(prefix: Sequence[int], targets: int) -> int:
    """Return the target with the highest hash together with ``prefix`` (Thaler and Ravishankar 1998).

    One target more takes its share from all the others alike, and every other prefix stays where it was.
    """
    ids = array("q", prefix).tobytes()
    return max(range(targets), key=lambda target: blake2b(ids, digest_size=8, salt=target.to_bytes(8)).digest())


ROUTERS: Mapping[str, Callable[[Route, int, Sequence[PlannedRequest]], Router]] = {
    "round_robin": _round_robin,
    "random": _random,
    "least_outstanding": lambda _route, targets, _planned: LeastOutstanding(targets),
    "connection_random": lambda route, targets, _planned: ConnectionRandom(targets, route.seed),
    "prefix_hash": _prefix_hash,
}

DIRECT = Route("round_robin", seed=0)
"""The default: the client itself splits requests evenly, by their index."""


def _unknown(policy: str) -> BadInput:
    near = get_close_matches(policy, ROUTERS, n=1)
    return BadInput(
        "route_unknown",
        f"No routing policy is called {policy!r}.",
        why=f"Did you mean {near[0]!r}?" if near else "The name must be one that whichbits knows.",
        fix=f"Use one of: {', '.join(ROUTERS)}.",
    )

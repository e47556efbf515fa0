"""How a cell is dealt to workers: an even share each, in the plan's order, so that together they send the plan."""

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from whichbits.drive.routing import Route
from whichbits.language.amounts import amount
from whichbits.study.model import Load
from whichbits.traffic.request import PlannedRequest

STREAMS_A_WORKER = 512
"""At 20 tokens/s a stream some 10,000 events a second: half of what one core reads without merging them."""

REQUESTS_A_WORKER = 500.0
"""Requests a second: at a millisecond of work each, half a core."""

_SEED_STEP = 2**32
"""Between workers that draw for themselves; study seeds and repeats stay far below."""


def spare_cores() -> int:
    """Return the cores that workers may have: one is left for the lead, unless there is no other."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


def workers_for(
    load: Load, requests: int, wanted: int | Literal["auto"], route: Route, cores: Callable[[], int] = spare_cores
) -> int:
    """Return how many workers a cell gets: never more than it has streams or requests.

    ``auto`` gives a load that goes to whichever replica has the fewest requests in flight a single worker, since each
    knows of its own requests only. ``cores`` says how many may be had.
    """
    most = max(1, min(requests, load.concurrency or requests))
    if wanted != "auto":
        return min(wanted, most)
    if route.policy == "least_outstanding":
        return 1
    needed = max((load.concurrency or 0) / STREAMS_A_WORKER, (load.request_rate or 0) / REQUESTS_A_WORKER, 1)
    return min(math.ceil(needed), cores(), most)


def deal(planned: Sequence[PlannedRequest], workers: int) -> list[list[PlannedRequest]]:
    """Deal requests in turn, in their order; the turns of a session go to one worker."""
    hands: list[list[PlannedRequest]] = [[] for _ in range(workers)]
    before = {request.index: request.follows for request in planned}
    given: dict[int, int] = {}
    for request in planned:
        worker = given.setdefault(_first_turn(before, request.index), len(given) % workers)
        hands[worker].append(request)
    return hands


def _first_turn(before: Mapping[int, int | None], index: int) -> int:
    while (earlier := before.get(index)) is not None:
        index = earlier
    return index


def shares(whole: int | None, workers: int) -> list[int | None]:
    """Split a number of streams as evenly as it goes; the first get the remainder."""
    if whole is None:
        return [None] * workers
    return [whole // workers + (worker < whole % workers) for worker in range(workers)]


def route_of(route: Route, worker: int) -> Route:
    """Return the worker's route.

    What is settled by a request's index or prompt is the same for whoever sends it, so that the union of all workers
    is the planned split. Connections are drawn by each worker for itself, so each needs draws of its own.
    """
    drawn = route.policy == "connection_random"
    return replace(route, seed=route.seed + worker * _SEED_STEP) if drawn else route


def split_notes(load: Load, workers: int, route: Route) -> list[str]:
    """Return what several workers do otherwise than one would, in words."""
    if workers == 1:
        return []
    notes = []
    if load.request_rate is not None and load.concurrency is not None:
        parts = " + ".join(str(share) for share in shares(load.concurrency, workers))
        notes.append(f"the cap of {load.concurrency} is split over {workers} workers: {parts}")
    if route.policy == "least_outstanding":
        notes.append(f"each of {workers} workers balances by its own requests in flight")
    return notes


def machine_notes(machines: Sequence[str | None]) -> list[str]:
    """Return who sent how much of a cell that several machines sent; None is the lead's own."""
    if all(machine is None for machine in machines):
        return []
    shares = Counter("the lead's own" if machine is None else machine for machine in machines)
    return ["sent from " + ", ".join(f"{name} ({amount(count, 'worker')})" for name, count in shares.items())]

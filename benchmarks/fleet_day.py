"""A day of chat traffic over a fleet: how many requests a second are played, and in how much memory.

    python benchmarks/fleet_day.py [REQUESTS [REPLICAS]]

First with replicas that take turns, in two processes that each play every second replica; then with the fewest
outstanding, in two that each play half of the day's requests with all replicas, the second from ten minutes before its
first one on. Prints wall time, processor time and each process's peak memory.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import dropwhile, islice, repeat, takewhile
from multiprocessing import get_context

import numpy as np

from whichbits.plan.day import hourly_rates
from whichbits.predict.cell import fleet_of
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.simulation.simulate import Fleet
from whichbits.predict.simulation.stream import Arrival, Day, play_day
from whichbits.study.arm import Arm
from whichbits.study.fleet import Day as Curve
from whichbits.traffic.draws import Draws
from whichbits.traffic.lengths import log_normal_lengths

_AT_ONCE = 20_000
_PARTS = 2
_WARM_S = 600.0


def arrivals(requests: int) -> Iterator[Arrival]:
    """Yield about so many requests over 24 hours, in chunks, with a trough of a quarter of the peak at night."""
    shape = hourly_rates(Curve(peak=1.0))
    peak = requests / 3600 / sum(shape)
    for hour, share in enumerate(shape):
        count = round(3600 * peak * share)
        for first in range(0, count, _AT_ONCE):
            size = min(_AT_ONCE, count - first)
            draws = Draws(0, "day", hour, first)
            times = 3600 * (hour + (first + size * np.sort(draws.uniform(size))) / count)
            prompts = log_normal_lengths(draws, size, 218, 1.0, 1744)
            outputs = log_normal_lengths(draws, size, 220, 0.8, 880)
            yield from zip(times.tolist(), prompts.tolist(), outputs.tolist(), repeat(-1))


def fleet(replicas: int, balance: str) -> Fleet:
    arm = Arm(weight_format="w8a8-fp8", model="qwen2.5-7b")
    server = fleet_of(Deployment.of(arm, "L40S", "0.25.1"), default_constants()).server
    return Fleet(server, replicas, balance)


def turns(requests: int, replicas: int, at: int) -> Day:
    """Play every second replica of a fleet that takes turns."""
    return play_day(fleet(replicas // _PARTS, "round_robin"), islice(arrivals(requests), at, None, _PARTS))


def half(requests: int, replicas: int, at: int) -> Day:
    """Play half of the day's requests behind a balance that looks at all replicas."""
    middle = next(islice(arrivals(requests), requests // 2, None))[0]
    whole = fleet(replicas, "least_outstanding")
    if at == 0:
        return play_day(whole, takewhile(lambda arrival: arrival[0] < middle, arrivals(requests)))
    after = dropwhile(lambda arrival: arrival[0] < middle - _WARM_S, arrivals(requests))
    return play_day(whole, after, counted_from_s=middle)


def timed(play: Callable[[int, int, int], Day], requests: int, replicas: int, at: int) -> tuple[Day, float, float]:
    """Play one part; return it with its processor seconds and its peak memory in MiB."""
    began = time.process_time()
    day = play(requests, replicas, at)
    return day, time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(play: Callable[[int, int, int], Day], requests: int, replicas: int) -> None:
    began = time.perf_counter()
    with ProcessPoolExecutor(_PARTS, mp_context=get_context("spawn")) as pool:
        asked = [pool.submit(timed, play, requests, replicas, at) for at in range(_PARTS)]
        days, busy, memory = zip(*(each.result() for each in asked), strict=True)
    whole = days[0]
    for other in days[1:]:
        whole.merge(other)
    rate = whole.e2e_ms.total / sum(busy)
    print(
        f"{play.__name__}, {replicas} replicas, {whole.e2e_ms.total:,} requests in {_PARTS} processes:"
        f" {time.perf_counter() - began:.0f} s, {' and '.join(f'{each:.0f}' for each in busy)} s of processor,"
        f" {rate:,.0f} requests/s of one core; peak {' and '.join(f'{mib:.0f}' for mib in memory)} MiB;"
        f" p99 of TTFT {whole.ttft_ms.percentile(99):.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:]]
    wanted, size = (*numbers, 1_000_000, 100)[:2] if len(numbers) != 1 else (numbers[0], 100)
    measured(turns, wanted, size)
    measured(half, wanted, size)

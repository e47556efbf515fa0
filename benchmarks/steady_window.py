"""How far the steady window's throughput is from the truth, and what it takes for steady: cells of known truth.

Every kind of cell is simulated request by request, with lengths that vary and a server whose pace is given. It prints,
for each kind, how many of the cells have a window, the median error of tokens/s within it and of the whole cell, and
the reasons of the others.

    python -m benchmarks.steady_window 200
"""

import heapq
import sys
from collections import Counter
from collections.abc import Callable
from statistics import median

import numpy as np

from whichbits.analyze.latency.throughput import steady_output_tokens_per_s, throughput
from whichbits.analyze.load.shape import CLOSED, LoadShape
from whichbits.analyze.load.steady import steady
from whichbits.record.timelines import Floats, Timelines

STEP_S = 0.02
FIRST_S = 0.1
MEAN_TOKENS = 60
DRAWN = LoadShape(open_loop=True, one_rate=True)
UNTOLD = LoadShape(open_loop=True)

Pace = Callable[[float], float]
Cell = tuple[Timelines, LoadShape, float | None]
"""With the true tokens/s of its steady state, None where it has none."""


def main(cells: int) -> None:
    """Print a row a kind of cell."""
    print(f"{'kind':34} window  error of it, of the whole  reasons")
    for name, make in KINDS.items():
        found = [_of(*make(np.random.default_rng([7, number]))) for number in range(cells)]
        known = [each for each in found if each[0] is not None]
        errors = "none" if not known or known[0][1] is None else _errors(known)
        reasons = ", ".join(
            f"{reason} {times}" for reason, times in Counter(each[2] for each in found if each[2]).items()
        )
        print(f"{name:34} {len(known) / cells:5.0%}   {errors:26} {reasons}")


def _errors(known: list[tuple[float | None, float | None, str | None, float]]) -> str:
    inside = [each[0] / each[1] - 1 for each in known if each[0] and each[1]]
    whole = [each[3] / each[1] - 1 for each in known if each[1]]
    return f"{median(inside):+6.1%} (±{median(map(abs, inside)):.1%})  {median(whole):+6.1%}"


def _of(
    timelines: Timelines, shape: LoadShape, truth: float | None
) -> tuple[float | None, float | None, str | None, float]:
    found = steady(timelines, shape)
    rate = steady_output_tokens_per_s(timelines, found.window)
    return rate, truth, found.reason, throughput(timelines).output_tokens_per_s or 0.0


def closed(streams: int, waves: int, pace: Pace) -> Callable[[np.random.Generator], Cell]:
    """A closed loop whose step takes ``pace(now)`` times its usual time."""

    def make(draws: np.random.Generator) -> Cell:
        free = [(0.0, stream) for stream in range(streams)]
        sent, tokens, ends = [], _lengths(draws, streams * waves), []
        for length in tokens:
            now, stream = heapq.heappop(free)
            end = now + (FIRST_S + STEP_S * (length - 1)) * pace(now)
            sent.append(now)
            ends.append(end)
            heapq.heappush(free, (end, stream))
        # A stream's share of time by mean length: the truth of a renewal process.
        truth = streams * MEAN_TOKENS / ((FIRST_S + STEP_S * (MEAN_TOKENS - 1)) * pace(1e9))
        return timelines(np.array(sent), np.array(ends), tokens), CLOSED, truth

    return make


def unlimited(rate: float, seconds: float, shape: LoadShape = DRAWN) -> Callable[[np.random.Generator], Cell]:
    """An open loop on a server that is never full."""

    def make(draws: np.random.Generator) -> Cell:
        sent = _arrivals(draws, rate, seconds)
        tokens = _lengths(draws, sent.size)
        return timelines(sent, sent + FIRST_S + STEP_S * (tokens - 1), tokens), shape, rate * MEAN_TOKENS

    return make


def slots(rate: float, seconds: float, servers: int) -> Callable[[np.random.Generator], Cell]:
    """An open loop on a server with so many slots; what does not fit waits in its queue."""

    def make(draws: np.random.Generator) -> Cell:
        sent = _arrivals(draws, rate, seconds)
        tokens, free, ends = _lengths(draws, sent.size), [0.0] * servers, []
        for now, length in zip(sent, tokens, strict=True):
            begin = max(now, heapq.heappop(free))
            ends.append(begin + FIRST_S + STEP_S * (length - 1))
            heapq.heappush(free, ends[-1])
        served = rate * (FIRST_S + STEP_S * (MEAN_TOKENS - 1)) < servers
        return timelines(sent, np.array(ends), tokens), DRAWN, rate * MEAN_TOKENS if served else None

    return make


def waves(rate: float, seconds: float) -> Callable[[np.random.Generator], Cell]:
    """Arrivals of unknown pattern whose rate swings threefold, as a day does."""

    def make(draws: np.random.Generator) -> Cell:
        every = _arrivals(draws, 2 * rate, seconds)
        kept = draws.random(every.size) < 0.5 + 0.25 * np.sin(2 * np.pi * every / seconds) * 1.6
        sent = every[kept]
        tokens = _lengths(draws, sent.size)
        return timelines(sent, sent + FIRST_S + STEP_S * (tokens - 1), tokens), UNTOLD, None

    return make


def timelines(sent_s: Floats, end_s: Floats, tokens: Floats) -> Timelines:
    """Return requests whose tokens come evenly, the last at the end."""
    counts = tokens.astype(np.int64)
    step = np.repeat((end_s - sent_s) * STEP_S / (FIRST_S + STEP_S * (tokens - 1)), counts)
    left = np.concatenate([np.arange(count - 1, -1, -1) for count in counts])
    chunk_ns = ((np.repeat(end_s, counts) - left * np.minimum(step, STEP_S * 4)) * 1e9).astype(np.int64)
    nothing = np.full(sent_s.size, np.nan)
    return Timelines(
        succeeded=np.ones(sent_s.size, np.bool_),
        scheduled_ns=sent_s * 1e9,
        sent_ns=sent_s * 1e9,
        finished_ns=end_s * 1e9,
        prompt_tokens=nothing,
        cached_tokens=nothing,
        output_tokens=tokens,
        chunk_ns=chunk_ns,
        chunk_tokens=np.ones(chunk_ns.size, np.int64),
        offsets=np.concatenate([[0], np.cumsum(counts)]),
    )


def _arrivals(draws: np.random.Generator, rate: float, seconds: float) -> Floats:
    return np.sort(draws.uniform(0, seconds, draws.poisson(rate * seconds)))


def _lengths(draws: np.random.Generator, count: int) -> Floats:
    """Log-normal as chat is, with the mean given."""
    drawn = np.rint(draws.lognormal(np.log(MEAN_TOKENS) - 0.18, 0.6, count))
    return np.clip(drawn, 2, 600)


def _slow_start(now: float) -> float:
    return 1 + 2 * float(np.exp(-now / 8))


def _slower_and_slower(now: float) -> float:
    return 1 + now / 30 if now < 1e8 else 1.0


def _even(now: float) -> float:  # noqa: ARG001 - a pace like the others
    return 1.0


KINDS = {
    "closed, 8 streams, 3 waves": closed(8, 3, _even),
    "closed, 8 streams, 20 waves": closed(8, 20, _even),
    "closed, 64 streams, 5 waves": closed(64, 5, _even),
    "closed, slow start, 8 x 40": closed(8, 40, _slow_start),
    "closed, ever slower, 8 x 20": closed(8, 20, _slower_and_slower),
    "open, 4/s for 60 s": unlimited(4, 60),
    "open, 20/s for 20 s": unlimited(20, 20),
    "open, 4/s for 3 s": unlimited(4, 3),
    "open, unknown pattern, 4/s for 60 s": unlimited(4, 60, UNTOLD),
    "open, 90 % of capacity, 60 s": slots(12, 60, 17),
    "open, 130 % of capacity, 60 s": slots(12, 60, 12),
    "open, 300 % of capacity, 60 s": slots(12, 60, 5),
    "open, rate that swings, 60 s": waves(6, 60),
}

if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

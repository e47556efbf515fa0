"""What it costs to place a crossing within 10 %: the search, a full grid of that resolution, and bisection.

Pairs of arms are simulated at the level of cells: each meeting of a pair with a load is shifted on its own, and its
requests leave some more open.

    python -m benchmarks.search_cost --pairs 200
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from whichbits.analyze.crossings.bands import bands
from whichbits.analyze.crossings.decision import Decision, decide
from whichbits.analyze.curves.load_curves import MARGIN
from whichbits.conduct.searching.search import Met, Search, log_ratios, next_step

LOWEST, HIGHEST, PRECISION = 1, 256, 0.1
MOST_CELLS = 4000
SPREAD_OF_REQUESTS = 0.01


@dataclass
class World:
    """A pair of arms that can be met at any load."""

    rng: np.random.Generator
    base: float
    slope: float
    b_slope: float
    noise: float
    met: list[Met]
    seconds: float = 0.0
    bracket: tuple[int, int] = (LOWEST, HIGHEST)

    def meet(self, load: int) -> Met:
        truth = np.log((self.base + self.slope * load) / (1 + self.b_slope * load))
        seen = truth + self.rng.normal(0, self.noise) + self.rng.normal(0, SPREAD_OF_REQUESTS)
        found = Met(load, float(seen), SPREAD_OF_REQUESTS**2)
        self.met.append(found)
        self.seconds += seconds(load, self)
        return found

    @property
    def crossing(self) -> float:
        return (1 - self.base) / (self.slope - self.b_slope)

    def decision(self) -> Decision:
        return decide(bands(log_ratios(self.met)), MARGIN)


def seconds(load: int, world: World | None = None) -> float:
    """Return what both arms take for max(16, 4 x load) requests of 200 tokens at 30 ms."""
    waves = max(16, 4 * load) / load
    slower = 2.0 if world is None else 2 + (world.slope + world.b_slope) * load
    return waves * 200 * 0.03 * slower / 2


def world(number: int) -> World:
    rng = np.random.default_rng([5, number])
    base, at = float(rng.uniform(0.55, 0.85)), float(256 ** rng.uniform(0.3, 0.75))
    b_slope = float(rng.uniform(0.2, 1.0)) / at
    return World(rng, base, b_slope + (1 - base) / at, b_slope, float(rng.uniform(0.01, 0.03)), [])


def placed(decision: Decision) -> bool:
    return bool(decision.zeros) and all(
        zero.high - zero.low <= 2 * np.log1p(PRECISION) + 1e-9 for zero in decision.zeros
    )


def search(pair: World) -> bool:
    while len(pair.met) < MOST_CELLS:
        step = next_step(Search(LOWEST, HIGHEST, tuple(pair.met), seconds, np.inf, PRECISION))
        if step.load is None:
            return placed(pair.decision())
        pair.meet(step.load)
    return False


def grid(pair: World) -> bool:
    """Meet every load of a grid whose neighbours differ by the wanted interval, until the crossing is placed."""
    steps = int(np.ceil(np.log(HIGHEST / LOWEST) / (2 * np.log1p(PRECISION))))
    loads = sorted(set(np.geomspace(LOWEST, HIGHEST, steps + 1).round().astype(int).tolist()))
    while len(pair.met) < MOST_CELLS:
        for load in loads:
            pair.meet(load)
        if placed(pair.decision()):
            return True
    return False


def bisection(pair: World) -> bool:
    """Halve the range, repeating each load until its sign is beyond doubt or a hundred repeats leave it open."""
    low, high = LOWEST, HIGHEST
    for end in (low, high):
        sign(pair, end)
    while np.log(high / low) > 2 * np.log1p(PRECISION) and high - low > 1:
        middle = int(np.clip(round(np.sqrt(low * high)), low + 1, high - 1))
        said = sign(pair, middle)
        if said == 0:
            return False
        low, high = pair.bracket = (middle, high) if said < 0 else (low, middle)
    return True


def sign(pair: World, load: int) -> int:
    for _ in range(100):
        pair.meet(load)
        mine = [each for each in pair.met if each.load == load]
        known = bands(log_ratios(mine))
        if abs(known.mean[0]) > known.critical(0.025) * known.standard_error[0]:
            return int(np.sign(known.mean[0]))
    return 0


WAYS: dict[str, Callable[[World], bool]] = {"search": search, "full grid": grid, "bisection": bisection}


def rows(pairs: int) -> Iterator[str]:
    yield "| way | placed | median cells | median seconds | interval or bracket holds the truth |"
    yield "|---|---:|---:|---:|---:|"
    for name, way in WAYS.items():
        worlds = [world(number) for number in range(pairs)]
        done = [way(pair) for pair in worlds]
        cells, time = (np.median(each) for each in zip(*((2 * len(w.met), w.seconds) for w in worlds), strict=True))
        held = np.mean([holds(name, pair) for pair, ended in zip(worlds, done, strict=True) if ended])
        yield f"| {name} | {np.mean(done):.0%} | {cells:.0f} | {time:.0f} | {held:.0%} |"


def holds(name: str, pair: World) -> bool:
    if name == "bisection":
        return pair.bracket[0] <= pair.crossing <= pair.bracket[1]
    truth = np.log(pair.crossing)
    return any(zero.low <= truth <= zero.high for zero in pair.decision().zeros)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    print("\n".join(rows(parser.parse_args().pairs)))


if __name__ == "__main__":
    main()

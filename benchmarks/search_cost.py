"""What a search costs, and what it finds: of one crossing, and of all pairs of four arms within a budget.

One crossing is placed within 10 % by the search, by a full grid of that resolution, and by bisection.

Pairs of arms are simulated at the level of cells: each meeting of a pair with a load is shifted on its own, and its
requests leave some more open.

    python -m benchmarks.search_cost --pairs 200 --families 40

A family is four arms whose steps take base + slope x load, one of them at first the slowest, two of them within 3 % of
each other, as FP16, W8A8 and W4A16 are on an H200.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from tests.conduct.simulated_search import World as Simulated
from tests.conduct.simulated_search import decoding
from whichbits.analyze.crossings.bands import bands
from whichbits.analyze.crossings.decision import Decision, decide
from whichbits.analyze.curves.load_curves import MARGIN
from whichbits.conduct.searching.choice import Choice, Wanted
from whichbits.conduct.searching.search import Met, Search, log_ratios, next_step
from whichbits.conduct.searching.standing import bought, standing

LOWEST, HIGHEST, PRECISION = 1, 256, 0.1
MOST_CELLS = 4000
SPREAD_OF_REQUESTS = 0.01
BUDGETS = (1200.0,)


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


@dataclass
class Family(Simulated):
    """Four arms up together, and a search of them that keeps what its steps bought."""

    gains: list[str] = field(default_factory=list)
    """What each step bought."""

    def meet(self, choice: Choice, **changes: object) -> None:
        before = standing(self.situation())
        super().meet(choice, **changes)
        self.gains.append(bought(before, standing(self.situation())))


def family(number: int, budget: float) -> Family:
    rng = np.random.default_rng([7, number])
    slow, quick = 4.6 * np.exp(rng.normal(0, 0.1)), 3.4 * np.exp(rng.normal(0, 0.1))
    bases = np.array([slow, quick, quick * np.exp(rng.normal(0, 0.01)), quick * np.exp(rng.normal(0.05, 0.05))])
    slopes = 0.05 * np.exp(rng.normal(0, 0.15)) * np.exp(np.array([0.0, *rng.normal([0.15, 0.15, 0.35], 0.1)]))
    slopes[2] = slopes[1] * np.exp(rng.normal(0, 0.01))
    arms = {name: decoding(float(base), float(slope)) for name, base, slope in zip("abcd", bases, slopes, strict=True)}
    noise = float(np.exp(rng.uniform(np.log(0.007), np.log(0.04))))
    return Family(arms, 1, 512, budget, seconds=lambda load: 8 + 0.06 * load, noise=noise, seed=number, wanted=Wanted())


@dataclass
class Score:
    """What searches of families found, pair by pair; a pair crosses if each arm leads by 3 % somewhere in the range."""

    crossing: int = 0
    found: int = 0
    held: int = 0
    alike_or_apart: int = 0
    claimed: int = 0
    settled: int = 0
    vain: int = 0
    cells: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, met: Family) -> None:
        known = met.situation()
        self.cells += len(met.cells)
        self.vain += met.gains.count("nothing new")
        for pair in combinations(met.arms, 2):
            loads = np.arange(met.lowest, met.highest + 1)
            first, second = (np.array([met.arms[arm].tpot(float(load)) for load in loads]) for arm in pair)
            ratio = np.log(first / second)
            told = known.compared(pair, "tpot_ms.p50")
            decision = None if told is None else decide(told, MARGIN)
            zeros = () if decision is None else decision.zeros
            self.settled += decision is not None and decision.verdict != "noisy"
            if min(ratio.max(), -ratio.min()) > np.log1p(MARGIN):
                at = float(np.log(loads[np.argmin(np.abs(ratio))]))
                self.crossing += 1
                self.found += bool(zeros)
                self.held += any(zero.low <= at <= zero.high for zero in zeros)
                self.widths += [float(np.exp(zero.high - zero.low)) for zero in zeros]
            elif ratio.max() * ratio.min() >= 0:
                self.alike_or_apart += 1
                self.claimed += bool(zeros)


def family_rows(families: int) -> Iterator[str]:
    yield (
        "| budget, s | pairs that cross | found | interval holds it | median width | claimed where none is | settled |"
        " cells | steps that bought nothing |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for budget in BUDGETS:
        score = Score()
        for number in range(families):
            met = family(number, budget)
            met.run(400)
            score.add(met)
        yield (
            f"| {budget:.0f} | {score.crossing} | {score.found / score.crossing:.0%} |"
            f" {score.held / max(score.found, 1):.0%} | x {np.median(score.widths):.2f} |"
            f" {score.claimed} of {score.alike_or_apart} | {score.settled / 6 / families:.0%} |"
            f" {score.cells / families:.0f} | {score.vain / families:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--families", type=int, default=40)
    asked = parser.parse_args()
    if asked.pairs:
        print("\n".join(rows(asked.pairs)))
    if asked.families:
        print("\n".join(family_rows(asked.families)))


if __name__ == "__main__":
    main()

"""Arms of known truth that a search meets cell by cell, in virtual time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tests.analyze.make_cell import summary
from whichbits.analyze.cells.noise import Replicates
from whichbits.analyze.summary import CellSummary, Distribution
from whichbits.conduct.searching.choice import Choice, Situation, Wanted, choose
from whichbits.conduct.searching.search import coarse_loads

NOISE = 0.01
RESAMPLES = 40


@dataclass(frozen=True)
class SimulatedArm:
    """Median TPOT in ms, output tokens per second and the share of requests that hold the SLO, over concurrency."""

    tpot: Callable[[float], float]
    work: Callable[[float], float] | None = None
    held: Callable[[float], float] = lambda _: 1.0


def decoding(base: float, slope: float, most: float = np.inf, slo_ms: float = np.inf) -> SimulatedArm:
    """Return an arm whose step takes ``base + slope x batch`` ms, of which at most ``most`` run at once."""

    def tpot(load: float) -> float:
        return base + slope * min(load, most)

    return SimulatedArm(
        tpot, lambda load: 1000 * min(load, most) / tpot(load), lambda load: float(tpot(load) <= slo_ms)
    )


@dataclass
class World:
    """What was met so far; ``seconds`` is what a cell takes at a load, ``start_s`` what an arm's start does."""

    arms: Mapping[str, SimulatedArm]
    lowest: int = 1
    highest: int = 256
    budget: float = 1e9
    wanted: Wanted = field(default_factory=Wanted)
    seconds: Callable[[int], float] = lambda _: 10.0
    start_s: float = 0.0
    noise: float = NOISE
    seed: int = 0
    steps: list[Choice] = field(default_factory=list)
    cells: list[CellSummary] = field(default_factory=list)
    spent: float = 0.0

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def situation(self) -> Situation:
        return Situation(
            arms=tuple(self.arms),
            sweep=coarse_loads(self.lowest, self.highest),
            cells=self.cells,
            resampled={cell.cell: self._resampled(cell.cell) for cell in self.cells},
            wanted=self.wanted,
            seconds=lambda _, load: self.seconds(load),
            start_seconds=lambda _: self.start_s,
            seconds_left=self.budget - self.spent,
        )

    def run(self, most: int = 200) -> str:
        """Follow the advice to its end and return the reason."""
        for _ in range(most):
            choice = choose(self.situation())
            if choice.load is None:
                return choice.purpose
            self.meet(choice)
        return "never ended"

    def meet(self, choice: Choice, **changes: object) -> None:
        """Measure one step."""
        load = choice.load or 0
        block = len(self.steps)
        repeat = max((cell.repeat for cell in self.cells if cell.concurrency == load), default=-1) + 1
        for arm in choice.arms:
            self.cells.append(replace(self._cell(arm, load, repeat), block=block, **changes))  # type: ignore[arg-type]
            self.spent += self.seconds(load) + self.start_s
        self.steps.append(choice)

    def loads(self) -> list[int]:
        return [choice.load or 0 for choice in self.steps]

    def _cell(self, arm: str, load: int, repeat: int) -> CellSummary:
        truth = self.arms[arm]
        tpot = truth.tpot(load) * float(np.exp(self._rng.normal(0, self.noise)))
        work = truth.work(load) if truth.work else 1000 * load / truth.tpot(load)
        e2e = 1000 * load / work
        found = replace(summary(arm, load, tpot, repeat), cell=len(self.cells), requests=400)
        return replace(
            found,
            output_tokens_per_s=work * float(np.exp(self._rng.normal(0, self.noise))),
            e2e_ms=Distribution(400, e2e, e2e, e2e, e2e),
            slo_share=truth.held(load),
        )

    def _resampled(self, cell: int) -> Replicates:
        logs = np.random.default_rng(cell).normal(0, self.noise / 2, RESAMPLES)
        return {"tpot_ms.p50": logs, "output_tokens_per_s": logs, "e2e_ms.p50": logs}

"""Studies of known truth with the noise that real ones have, request by request.

Two arms with TPOT = base + slope x load, as a decode step has it: weights to read, then work a request adds. Noise:
every request's heavy-tailed own, a slow wave through the cell that neighbours share, a shift of every cell, a shift
of every visit of an arm (one start of its server), and a machine that drifts while arms take turns (AB, BA, ...).
"""

from dataclasses import dataclass, replace

import numpy as np

from whichbits.analyze.crossings.bands import LogRatios
from whichbits.analyze.statistics.resample import draw, percentiles, widened
from whichbits.record.timelines import Floats

ECHO = 0.8
"""Of the wave that a request feels, the share that the next one in send order still feels."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of logarithms; ``drift`` is the change of the machine over the whole study."""

    visit: float
    cell: float
    request: float
    wave: float
    drift: float


CALM = Noise(visit=0.004, cell=0.006, request=0.03, wave=0.02, drift=0.01)
USUAL = Noise(visit=0.01, cell=0.015, request=0.08, wave=0.04, drift=0.03)
ROUGH = Noise(visit=0.025, cell=0.03, request=0.15, wave=0.08, drift=0.06)
NOISES = {"calm": CALM, "usual": USUAL, "rough": ROUGH}


@dataclass(frozen=True)
class SimulatedStudy:
    """A study and its truth: arm a takes ``base + slope x load`` against arm b's ``1 + b_slope x load``."""

    loads: Floats
    repeats: int
    requests: int
    noise: Noise
    base: float
    slope: float
    b_slope: float
    unruly: float = 1.0
    """How many times as far as at other loads cells of the highest load shift, each on its own."""

    def log_ratio(self, loads: Floats) -> Floats:
        """Return the true ln(a / b)."""
        return np.log((self.base + self.slope * loads) / (1 + self.b_slope * loads))

    @property
    def crossing(self) -> float | None:
        """Return the true crossing, None if there is none within the loads."""
        steeper = self.slope - self.b_slope
        at = (1 - self.base) / steeper if steeper else np.inf
        return float(at) if self.loads[0] < at < self.loads[-1] else None


def random_study(rng: np.random.Generator, *, crosses: bool, noise: Noise | None = None) -> SimulatedStudy:
    """Draw a design and a truth: 4 to 8 loads, 1 to 5 repeats, 16 to 500 requests a cell."""
    count = int(rng.integers(4, 9))
    top = float(rng.choice([32, 64, 128, 256]))
    design = SimulatedStudy(
        loads=np.unique(np.geomspace(1, top, count).round()),
        repeats=int(rng.integers(1, 6)),
        requests=int(np.exp(rng.uniform(np.log(16), np.log(500)))),
        noise=noise or list(NOISES.values())[rng.integers(3)],
        base=1.0,
        slope=0.02,
        b_slope=0.02,
    )
    return _with_crossing(design, rng) if crosses else _without(design, rng)


def _with_crossing(design: SimulatedStudy, rng: np.random.Generator) -> SimulatedStudy:
    """Arm a leads by 10 to 45 % at rest; the crossing lies well within the loads."""
    base = float(rng.uniform(0.55, 0.9))
    at = float(design.loads[-1] ** rng.uniform(0.35, 0.75))
    b_slope = float(rng.uniform(0.2, 1.0)) / at
    return replace(design, base=base, slope=b_slope + (1 - base) / at, b_slope=b_slope)


def _without(design: SimulatedStudy, rng: np.random.Generator) -> SimulatedStudy:
    """Equal arms, a constant lead, or a lead that shrinks to nothing at one end: the hardest of all."""
    b_slope = float(rng.uniform(0.002, 0.05))
    lead = float(rng.uniform(0.6, 0.97))
    kinds = ((1.0, b_slope), (lead, lead * b_slope), (lead, b_slope), (1.0, lead * b_slope))
    base, slope = kinds[rng.integers(4)]
    return replace(design, base=base, slope=slope, b_slope=b_slope)


def measure(study: SimulatedStudy, rng: np.random.Generator, percent: float = 50) -> LogRatios:
    """Run the study once: a percentile of TPOT in every cell, paired, with the variance that resampling finds."""
    arms = np.stack([study.base + study.slope * study.loads, 1 + study.b_slope * study.loads])
    logs = np.log(arms)[:, :, None, None] + _shifts(study, rng)[..., None] + _requests(study, rng)
    shape = (study.loads.size, study.repeats)
    values, variances = np.empty(shape), np.empty(shape)
    for place in np.ndindex(shape):
        weights = draw(study.requests, seed=int(rng.integers(1 << 30)))
        both = np.exp(logs[(slice(None), *place)])
        first, second = (widened(np.log(percentiles(arm, weights, (percent,))[0]), study.requests) for arm in both)
        values[place] = np.subtract(*np.log(np.percentile(both, percent, axis=1)))
        variances[place] = np.var(first - second)
    return LogRatios(np.log(study.loads), values, variances)


def _shifts(study: SimulatedStudy, rng: np.random.Generator) -> Floats:
    """Return what each cell is off by, shape (arms, loads, repeats)."""
    loads, repeats = study.loads.size, study.repeats
    visit = rng.normal(0, study.noise.visit, (2, 1, repeats))
    cell = rng.normal(0, study.noise.cell, (2, loads, repeats))
    cell[:, -1] *= study.unruly
    order = np.array([[0, 1] if repeat % 2 == 0 else [1, 0] for repeat in range(repeats)]).T
    visits = 2 * np.arange(repeats)[None, :] + order
    when = (visits[:, None, :] * loads + np.arange(loads)[None, :, None]) / (2 * loads * repeats)
    return np.asarray(visit + cell + study.noise.drift * rng.choice([-1, 1]) * when, dtype=np.float64)


def _requests(study: SimulatedStudy, rng: np.random.Generator) -> Floats:
    """Return what each request is off by, shape (arms, loads, repeats, requests): length (shared), luck, and wave."""
    shape = (2, study.loads.size, study.repeats, study.requests)
    lengths = rng.normal(0, study.noise.request, (1, *shape[1:]))
    luck = study.noise.request * rng.standard_t(3, shape) / 2
    wave = rng.normal(0, study.noise.wave, shape)
    for at in range(1, study.requests):
        wave[..., at] = ECHO * wave[..., at - 1] + np.sqrt(1 - ECHO**2) * wave[..., at]
    return np.asarray(lengths + luck + wave, dtype=np.float64)

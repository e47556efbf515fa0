"""Fitting the constants that matter to what was measured: from one run, or from a table of a few numbers.

Each constant keeps its spread as a prior, so that little data moves little: the fit minimises the squared errors of the
logarithms over their own spread plus the squared shifts over theirs (maximum a posteriori), by Gauss-Newton with steps
halved until they help. What is left of each constant's uncertainty follows from the curvature at the end.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whichbits.errors import BadInput
from whichbits.predict.cell import Question, play_cell
from whichbits.predict.constants import Constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.grounds import used
from whichbits.predict.quantities import quantities
from whichbits.record.timelines import Floats

ERROR = 0.05
"""Spread of the logarithm of a measured quantity around a perfect model: noise, and what formulas leave out."""
_SHARED = ("host.slowness", "model.prefill", "front.request_us", "front.turn_us", "front.token_us", "front.loop_turns")
_ITERATIONS = 5
_SMALLEST_STEP = 1 / 16
_PROBE = 0.25
"""Shift of a constant, in its own spreads, over which a slope is taken: large enough to see past a play's grain."""


@dataclass(frozen=True)
class Observation:
    """What was measured of one cell: quantities by their address in summary.json."""

    name: str
    deployment: Deployment
    question: Question
    measured: Mapping[str, float]


@dataclass(frozen=True)
class Residual:
    """Predicted / measured of one quantity, before and after the fit."""

    name: str
    quantity: str
    measured: float
    before: float
    after: float


@dataclass(frozen=True)
class Calibration:
    """The constants after the fit, what moved (as factors), and how far predictions are off."""

    constants: Constants
    factors: Mapping[str, float]
    residuals: tuple[Residual, ...]

    def spread(self, *, after: bool) -> float:
        """Return the root mean square of ln(predicted / measured)."""
        ratios = [each.after if after else each.before for each in self.residuals]
        return float(np.sqrt(np.mean(np.log(ratios) ** 2)))


def calibrate(observations: Sequence[Observation], constants: Constants) -> Calibration:
    """Fit the constants that the observed arms rest on.

    Raises:
        BadInput: ``nothing_to_fit`` without a single measured quantity.
    """
    if not any(each.measured for each in observations):
        raise BadInput(
            "nothing_to_fit",
            "no cell has a quantity to fit to",
            why="the run has no finished cell with requests that succeeded",
            fix="calibrate from a run that was measured to its end",
        )
    names = fitted_names(observations, constants)
    spreads = np.array([constants.cells[name].sigma for name in names])

    def misfit(shifts: Floats) -> Floats:
        moved = constants.moved(dict(zip(names, shifts.tolist(), strict=True)))
        return np.concatenate([_log_ratios(observations, moved) / ERROR, shifts / spreads])

    shifts, slopes, rest = _minimise(misfit, spreads)
    count = len(rest) - len(names)
    excess = max(1.0, float((rest[:count] ** 2).mean()))
    left = np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes)) * excess)
    sigmas = dict(zip(names, np.minimum(left, spreads).tolist(), strict=True))
    fitted = constants.moved(dict(zip(names, shifts.tolist(), strict=True))).known(sigmas, "calibrated")
    factors = dict(zip(names, np.exp(shifts).tolist(), strict=True))
    return Calibration(fitted, factors, _residuals(observations, constants, fitted))


def fitted_names(observations: Sequence[Observation], constants: Constants) -> list[str]:
    """Return the uncertain constants that the observed arms' steps, hosts and front ends rest on."""
    names: dict[str, None] = {}
    for observation in observations:
        deployment = observation.deployment
        names |= dict.fromkeys(used(deployment))
        names |= dict.fromkeys([f"kernel.dense.{deployment.architecture}.math", f"power.{deployment.device.name}"])
        names |= dict.fromkeys(_SHARED)
        hopper = "_hopper" if deployment.architecture == "hopper" else ""
        names |= {f"attention.prefill_math{hopper}": None}
    return [name for name in names if name in constants.cells and constants.cells[name].sigma > 0]


def _minimise(misfit: Callable[[Floats], Floats], spreads: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the shifts, the slopes (rows, constants) and the misfit there."""
    shifts = np.zeros_like(spreads)
    rest = misfit(shifts)
    slopes = _slopes(misfit, shifts, rest, spreads)
    for _ in range(_ITERATIONS):
        step, *_ = np.linalg.lstsq(slopes, -rest, rcond=None)
        share = 1.0
        while share >= _SMALLEST_STEP:
            tried = misfit(shifts + share * step)
            if tried @ tried < rest @ rest:
                break
            share /= 2
        else:
            break
        shifts, rest = shifts + share * step, tried
        slopes = _slopes(misfit, shifts, rest, spreads)
    return shifts, slopes, rest


def _slopes(misfit: Callable[[Floats], Floats], shifts: Floats, rest: Floats, spreads: Floats) -> Floats:
    columns = []
    for at, spread in enumerate(spreads.tolist()):
        probe = shifts.copy()
        probe[at] += _PROBE * spread
        columns.append((misfit(probe) - rest) / (_PROBE * spread))
    return np.column_stack(columns)


def _log_ratios(observations: Sequence[Observation], constants: Constants) -> Floats:
    return np.concatenate([np.log(list(_ratios(each, constants).values())) for each in observations])


def _ratios(observation: Observation, constants: Constants) -> dict[str, float]:
    predicted = quantities(play_cell(observation.deployment, observation.question, constants))
    return {name: predicted[name] / value for name, value in observation.measured.items()}


def _residuals(observations: Sequence[Observation], before: Constants, after: Constants) -> tuple[Residual, ...]:
    found = []
    for each in observations:
        first, second = _ratios(each, before), _ratios(each, after)
        found += [Residual(each.name, key, value, first[key], second[key]) for key, value in each.measured.items()]
    return tuple(found)

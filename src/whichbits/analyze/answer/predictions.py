"""What became of a study's predictions: each is held against the numbers and their intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from whichbits.analyze.crossings.pairs import between
from whichbits.analyze.curves.load_curves import value_of, why_unusable
from whichbits.analyze.findings.observed import load_of, number
from whichbits.analyze.statistics.student import t_quantile
from whichbits.analyze.summary import CellSummary, Crossover
from whichbits.analyze.summary.verdicts import ScoredPrediction
from whichbits.errors import BadInput
from whichbits.language.phrase import joined, listed, phrase
from whichbits.study.prediction import Crosses, Less, Names, Prediction, Quantity, Within, parse_prediction

Verdict = Literal["true", "false", "undecided"]


@dataclass(frozen=True)
class Measured:
    """What predictions are held against."""

    cells: Sequence[CellSummary]
    crossovers: Sequence[Crossover]


@dataclass(frozen=True)
class _Known:
    """A positive value with its 95 % interval; both bounds None if no interval is known."""

    value: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return number(self.value)
        return phrase(
            "{value} ({low} to {high})", value=number(self.value), low=number(self.low), high=number(self.high)
        )


def scored_predictions(study: Mapping[str, Any], measured: Measured) -> tuple[ScoredPrediction, ...]:
    """Score every prediction that a run's study states.

    Raises:
        BadInput: one cannot be read; the study was edited after it was run.
    """
    texts = study.get("predictions") or ()
    arms = {*study.get("arms", {}), *(cell.arm for cell in measured.cells)}
    names = Names(arms, {load_of(cell) for cell in measured.cells})
    return tuple(score(text, _read(text, names), measured) for text in texts)


def score(text: str, prediction: Prediction, measured: Measured) -> ScoredPrediction:
    """Hold one prediction against the numbers."""
    match prediction:
        case Less():
            return _less(text, prediction, measured)
        case Within():
            return _within(text, prediction, measured)
        case Crosses():
            return _crosses(text, prediction, measured)


def _read(text: str, names: Names) -> Prediction:
    try:
        return parse_prediction(text, names)
    except ValueError as error:
        raise BadInput(
            "run_broken",
            f"the run's prediction cannot be read: {error}",
            why="run.json was edited after it was written",
            fix="restore the prediction as the study had it, or remove it",
        ) from error


def _less(text: str, prediction: Less, measured: Measured) -> ScoredPrediction:
    smaller, larger = (_known(each, measured) for each in (prediction.smaller, prediction.larger))
    if smaller is None or larger is None:
        return _unknown(text, prediction.smaller if smaller is None else prediction.larger)
    ratio = _paired(prediction, measured) or _ratio(smaller, larger)
    words = phrase(
        "{smaller}: {smaller_2}; {larger}: {larger_2}; ratio {ratio}",
        smaller=prediction.smaller,
        smaller_2=smaller,
        larger=prediction.larger,
        larger_2=larger,
        ratio=ratio,
    )
    return ScoredPrediction(text, _below(ratio, 1.0), words, ratio.value, ratio.low, ratio.high)


def _within(text: str, prediction: Within, measured: Measured) -> ScoredPrediction:
    found = _known(prediction.quantity, measured)
    if found is None:
        return _unknown(text, prediction.quantity)
    verdict = _inside(found, prediction.low, prediction.high)
    return ScoredPrediction(
        text,
        verdict,
        phrase("{quantity}: {found}", quantity=prediction.quantity, found=found),
        found.value,
        found.low,
        found.high,
    )


def _crosses(text: str, prediction: Crosses, measured: Measured) -> ScoredPrediction:
    found = between(measured.crossovers, prediction.arms, prediction.metric)
    if found is None:
        return ScoredPrediction(
            text,
            None,
            phrase(
                "{arms} were not compared by {metric}",
                arms=listed(prediction.arms),
                metric=prediction.metric,
            ),
        )
    if found.verdict == "noisy":
        return ScoredPrediction(text, "undecided", phrase("too noisy to say who leads where"))
    places = [_Known(crossing.load, crossing.low, crossing.high) for crossing in found.crossings]
    words = phrase("crosses at {list}", list=joined(", ", map(str, places))) if places else _no_crossing(found)
    if prediction.low is None or prediction.high is None:
        return ScoredPrediction(text, "false" if places else "true", words)
    verdicts = [_inside(place, prediction.low, prediction.high) for place in places]
    verdict: Verdict = next((each for each in ("true", "undecided") if each in verdicts), "false")
    return ScoredPrediction(text, verdict, words)


def _no_crossing(found: Crossover) -> str:
    leader = (
        phrase(", {leader_low_load} leads throughout", leader_low_load=found.leader_low_load)
        if found.leader_low_load
        else ""
    )
    return phrase(
        "no crossing from {loads:g} to {loads_2:g}{leader}",
        loads=found.loads[0],
        loads_2=found.loads[-1],
        leader=leader,
    )


def _known(quantity: Quantity, measured: Measured) -> _Known | None:
    """Return the mean over repeats, with an interval from what differs between them and what each leaves open."""
    cells = [each for each in measured.cells if each.arm == quantity.arm and load_of(each) == quantity.load]
    usable = [each for each in cells if why_unusable(each) is None]
    found = [
        (value, each.intervals.get(quantity.metric)) for each in usable if (value := _value(each, quantity.metric))
    ]
    if not found:
        return None
    logs = [math.log(value) for value, _ in found]
    value = quantity.factor * math.exp(math.fsum(logs) / len(logs))
    reach = _reach(logs, [interval for _, interval in found])
    return (
        _Known(value, None, None) if reach is None else _Known(value, value * math.exp(-reach), value * math.exp(reach))
    )


def _reach(logs: Sequence[float], intervals: Sequence[tuple[float, float] | None]) -> float | None:
    """Return half of the interval's width in the logarithm; None if one repeat does not say what it leaves open."""
    halves = [math.log(high / low) / 2 for low, high in filter(None, intervals)]
    within = None if len(halves) < len(logs) else math.sqrt(math.fsum(half**2 for half in halves)) / len(logs)
    if len(logs) == 1:
        return within
    mean = math.fsum(logs) / len(logs)
    spread = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1) / len(logs))
    return max(t_quantile(0.975, len(logs) - 1) * spread, within or 0.0)


def _value(cell: CellSummary, metric: str) -> float | None:
    value = value_of(cell, metric)  # type: ignore[arg-type]  # predictions also speak of what is not compared
    return value if value is not None and value > 0 else None


def _paired(prediction: Less, measured: Measured) -> _Known | None:
    """Return the ratio as arms are compared at one load, request by request; None for other comparisons."""
    smaller, larger = prediction.smaller, prediction.larger
    if smaller.load != larger.load or smaller.metric != larger.metric or smaller.arm == larger.arm:
        return None
    each = between(measured.crossovers, (smaller.arm, larger.arm), smaller.metric)
    if each is None or not each.ratio_intervals:
        return None
    place, _, _ = smaller.load.partition(" cap ")
    at = next((number for number, load in enumerate(each.loads) if place in (f"c{load:g}", f"{load:g}/s")), None)
    if at is None:
        return None
    ratio = _Known(each.ratios[at], *each.ratio_intervals[at])
    return _times(ratio if each.arms[0] == smaller.arm else _inverse(ratio), smaller.factor / larger.factor)


def _ratio(smaller: _Known, larger: _Known) -> _Known:
    value = smaller.value / larger.value
    if smaller.low is None or larger.low is None or smaller.high is None or larger.high is None:
        return _Known(value, None, None)
    return _around(value, math.hypot(math.log(smaller.high / smaller.low) / 2, math.log(larger.high / larger.low) / 2))


def _around(value: float, reach: float | None) -> _Known:
    """Return a value with the interval of this half width in its logarithm."""
    if reach is None:
        return _Known(value, None, None)
    return _Known(value, value * math.exp(-reach), value * math.exp(reach))


def _inverse(ratio: _Known) -> _Known:
    low, high = ratio.low, ratio.high
    return _Known(1 / ratio.value, None if high is None else 1 / high, None if low is None else 1 / low)


def _times(known: _Known, factor: float) -> _Known:
    bounds = (None if bound is None else bound * factor for bound in (known.low, known.high))
    return _Known(known.value * factor, *bounds)


def _below(known: _Known, bound: float) -> Verdict:
    low, high = _bounds(known)
    return "true" if high < bound else "false" if low >= bound else "undecided"


def _inside(known: _Known, low: float, high: float) -> Verdict:
    at_least, at_most = _bounds(known)
    if low <= at_least and at_most <= high:
        return "true"
    return "false" if at_most < low or at_least > high else "undecided"


def _bounds(known: _Known) -> tuple[float, float]:
    """Return the interval; a value without one stands for itself."""
    if known.low is None or known.high is None:
        return known.value, known.value
    return known.low, known.high


def _unknown(text: str, quantity: Quantity) -> ScoredPrediction:
    return ScoredPrediction(text, None, phrase("{quantity} is not known, or its cell is not usable", quantity=quantity))

"""Two arms against each other, load by load and metric by metric: ratio, interval, and what both allow to say."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whichbits.analyze.cells.noise import variance
from whichbits.analyze.comparison.resolution import Coarse, coarse
from whichbits.analyze.comparison.sides import Load, Pair, Side, Sides, identical, read, refusal, same_prompts
from whichbits.analyze.crossings.bands import LogRatios, bands
from whichbits.analyze.crossings.decision import ratio_intervals
from whichbits.analyze.curves.load_curves import MARGIN, METRICS, is_thin
from whichbits.analyze.curves.meaning import Shared, shared_meaning
from whichbits.analyze.summary import CellSummary, Metric
from whichbits.language.phrase import phrase
from whichbits.language.recognition import recognise
from whichbits.record.timelines import Floats

Verdict = Literal["better", "worse", "negligible", "equal", "unclear", "thin", "no_interval", "not_comparable"]
Values = tuple[float | None, float | None]

_NOT_TOLD = "not told"
THIN = "fewer than 10 samples beyond the percentile"

NO_LOAD = "no load is told: comparable only if both sides met the same"

NO_REPEAT = phrase("the sides have no repeat in common")

_Z = 1.96


@dataclass(frozen=True)
class Row:
    """One metric at one load: ``ratio`` is candidate / baseline, ``low`` to ``high`` its 95 % interval.

    ``practical`` says whether the estimate lies beyond the margin, ``significant`` whether the interval leaves out 1;
    None is not known. ``refusal`` says why there is no ratio.
    """

    metric: Metric
    concurrency: int | None
    request_rate: float | None
    baseline: float | None
    candidate: float | None
    verdict: Verdict
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    practical: bool | None = None
    significant: bool | None = None
    paired: bool | None = None
    repeats: int = 0
    notes: tuple[str, ...] = ()
    refusal: str | None = None


@dataclass(frozen=True)
class PairComparison:
    """A candidate against a baseline; ``differences`` gives (baseline's, candidate's) of each fact that differs."""

    baseline: str
    candidate: str
    differences: dict[str, tuple[str, str]]
    rows: tuple[Row, ...]
    identical: bool = False
    """True if both sides are the same requests: every row is then equal without any spread that runs may have."""
    coarse: Coarse | None = None
    """Set where so few repeats can show nothing equal, whatever they measure."""


@dataclass(frozen=True)
class Comparison:
    """All that is found of every pair; arms within ``margin`` of each other are taken as equal."""

    schema_version: int
    margin: float
    pairs: tuple[PairComparison, ...]


@dataclass(frozen=True)
class _Place:
    """One metric at one load: the cells of each repeat that both sides have, and how they may be read."""

    metric: Metric
    load: Load
    pairs: tuple[Pair, ...]
    shared: Shared
    refusal: str | None
    unused: tuple[str, ...] = ()
    """Why other repeats that both sides have are left out."""

    @property
    def values(self) -> Values:
        """Geometric means over the repeats, as the ratio is one."""
        return self._mean(0), self._mean(1)

    def value(self, pair: Pair, side: int) -> float | None:
        """Return what is compared of one side."""
        return read(pair[side], self.metric, self.shared.holders[side])

    def _mean(self, side: int) -> float | None:
        known = [value for pair in self.pairs if (value := self.value(pair, side)) is not None]
        return float(np.exp(np.mean(np.log(known)))) if known else None


@dataclass(frozen=True)
class _Estimate:
    ratio: float
    interval: tuple[float, float] | None
    """None where nothing tells how far the ratio may be off."""


def compare(pairs: Sequence[Sides], margin: float = MARGIN) -> Comparison:
    """Compare each (baseline, candidate)."""
    return Comparison(1, margin, tuple(compare_pair(sides, margin) for sides in pairs))


def compare_pair(sides: Sides, margin: float = MARGIN) -> PairComparison:
    """Compare two sides at the loads that both have, under every metric that either knows."""
    loads = [load for load in sides[0].loads if load in sides[1].loads]
    same = identical(sides)
    rows = tuple(row for metric in METRICS for row in _rows(sides, metric, loads, margin, same=same))
    # A prediction is not repeated: more of it would say the same.
    few = None if same or any(side.predicted for side in sides) else coarse(*_seen(rows), margin)
    return PairComparison(sides[0].name, sides[1].name, _differences(*sides), rows, same, few)


def _seen(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the most repeats of a row, and at how many loads any one metric is compared."""
    compared = [row for row in rows if row.ratio is not None]
    loads = Counter(row.metric for row in compared)
    return max((row.repeats for row in compared), default=0), max(loads.values(), default=0)


def _rows(sides: Sides, metric: Metric, loads: Sequence[Load], margin: float, *, same: bool) -> Iterator[Row]:
    places = [_place(sides, metric, load) for load in loads]
    if all(place.values == (None, None) for place in places):
        return  # neither side knows the metric
    if same:
        yield from (_identity(place) for place in places if None not in place.values)
        return
    known = [place for place in places if place.refusal is None]
    estimates = {place.load: found for place, found in zip(known, _estimates(sides, known), strict=True)}
    for place in places:
        if place.load in estimates:
            yield _row(sides, place, estimates[place.load], margin)
        else:
            yield Row(place.metric, *place.load, *place.values, "not_comparable", refusal=place.refusal)


def _place(sides: Sides, metric: Metric, load: Load) -> _Place:
    """Return the usable repeats that both sides have, or all of them and why none is usable."""
    ours, theirs = (side.at(load) for side in sides)
    pairs = tuple((ours[repeat], theirs[repeat]) for repeat in sorted(ours.keys() & theirs.keys()))
    if not pairs:
        return _Place(metric, load, (), Shared((metric, metric)), NO_REPEAT)
    meanings = [shared_meaning(*pair, metric) for pair in pairs]
    refusals = [refusal(sides, metric, pair, shared) for pair, shared in zip(pairs, meanings, strict=True)]
    usable = [at for at, reason in enumerate(refusals) if reason is None]
    if not usable:
        return _Place(metric, load, pairs, meanings[0], refusals[0])
    unused = tuple(reason for reason in refusals if reason is not None)
    return _Place(metric, load, tuple(pairs[at] for at in usable), meanings[usable[0]], None, unused)


def _identity(place: _Place) -> Row:
    """Return a row of one measurement held against itself."""
    baseline, candidate = place.values
    return Row(
        metric=place.metric,
        concurrency=place.load[0],
        request_rate=place.load[1],
        baseline=baseline,
        candidate=candidate,
        verdict="equal",
        ratio=1.0,
        low=1.0,
        high=1.0,
        practical=False,
        significant=False,
        paired=True,
        repeats=len(place.pairs),
        notes=place.shared.caveats,
    )


def _estimates(sides: Sides, places: Sequence[_Place]) -> list[_Estimate]:
    """Return ratio and interval at each place; the spread between repeats is learnt from all of them together."""
    if not places:
        return []
    values, variances = (np.full((len(places), max(len(place.pairs) for place in places)), np.nan) for _ in range(2))
    for at, place in enumerate(places):
        for repeat, pair in enumerate(place.pairs):
            values[at, repeat] = np.log((place.value(pair, 1) or np.nan) / (place.value(pair, 0) or np.nan))
            variances[at, repeat] = _variance(sides, place.metric, pair)
    known = bands(LogRatios(np.arange(len(places), dtype=np.float64), values, variances))
    # One repeat without requests leaves nothing that tells how far the ratio may be off.
    told = ~np.isnan(variances).all(axis=1) | (known.repeats > 1)
    found = zip(np.exp(known.mean).tolist(), ratio_intervals(known), told.tolist(), strict=True)
    return [_Estimate(ratio, interval if tells else None) for ratio, interval, tells in found]


def _variance(sides: Sides, metric: Metric, pair: Pair) -> float:
    """Return the variance of the log-ratio by the requests: of paired resamples, or of both sides added."""
    one, other = (side.resampled.get(cell.cell, {}).get(metric) for side, cell in zip(sides, pair, strict=True))
    if one is not None and other is not None and same_prompts(sides, pair):
        return variance(other - one)
    return _variance_of(pair[0], metric, one) + _variance_of(pair[1], metric, other)


def _variance_of(cell: CellSummary, metric: Metric, logs: Floats | None) -> float:
    if logs is not None:
        return variance(logs)
    # A summary keeps no requests, but the interval that they gave: normal in the logarithm.
    interval = cell.intervals.get(metric)
    return float("nan") if interval is None else float(np.log(interval[1] / interval[0]) / (2 * _Z)) ** 2


def _row(sides: Sides, place: _Place, estimate: _Estimate, margin: float) -> Row:
    low, high = estimate.interval or (None, None)
    thin = any(is_thin(cell, place.metric) for pair in place.pairs for cell in pair)
    practical = bool(abs(np.log(estimate.ratio)) > np.log1p(margin))
    significant = None if low is None or high is None or thin else not low <= 1 <= high
    baseline, candidate = place.values
    return Row(
        metric=place.metric,
        concurrency=place.load[0],
        request_rate=place.load[1],
        baseline=baseline,
        candidate=candidate,
        verdict=_verdict(place.metric, estimate, margin, decided=bool(significant and practical), thin=thin),
        ratio=estimate.ratio,
        low=low,
        high=high,
        practical=practical,
        significant=significant,
        paired=all(same_prompts(sides, pair) for pair in place.pairs),
        repeats=len(place.pairs),
        notes=tuple(_notes(place, thin=thin)),
    )


def _notes(place: _Place, *, thin: bool) -> Iterator[str]:
    yield from place.shared.caveats
    if thin:
        yield THIN
    if place.unused:
        count = len(place.unused) + len(place.pairs)
        why = recognise(place.unused[0])
        yield phrase("{unused} of {count} repeats not used ({why})", unused=len(place.unused), count=count, why=why)
    if place.load == (None, None):
        yield NO_LOAD


def _verdict(metric: Metric, estimate: _Estimate, margin: float, *, decided: bool, thin: bool) -> Verdict:
    if estimate.interval is None:
        return "no_interval"
    if thin:
        return "thin"
    if decided:
        return "better" if (estimate.ratio < 1) == METRICS[metric].lower_is_better else "worse"
    low, high = estimate.interval
    if 1 / (1 + margin) <= low and high <= 1 + margin:
        return "equal"
    return "unclear" if low <= 1 <= high else "negligible"


def _differences(baseline: Side, candidate: Side) -> dict[str, tuple[str, str]]:
    names = dict.fromkeys((*baseline.facts, *candidate.facts))
    told = {name: (baseline.facts.get(name, _NOT_TOLD), candidate.facts.get(name, _NOT_TOLD)) for name in names}
    return {name: pair for name, pair in told.items() if pair[0] != pair[1]}

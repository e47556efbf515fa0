"""What it would take to settle who leads: the cheapest further meetings that earn a verdict, if estimates stay.

Three verdicts would do, by the rules of ``analyze.crossings.decision``: one arm leads at a load and the other nowhere
by more than the margin; each leads somewhere; or both are level everywhere. Each asks of every load how near a bound
may lie to its estimate, and so how often it has to be met. Nothing here settles anything: it says what is worth trying.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from whichbits.analyze.crossings.bands import Bands
from whichbits.analyze.crossings.decision import ALPHA, MOST_REPEATS
from whichbits.record.timelines import Floats

_NO_DISTANCE = 1e-6
"""No number of meetings brings a bound nearer to its estimate than this."""


@dataclass(frozen=True)
class Settling:
    """A comparison that is noisy yet; ``seconds`` is what a meeting takes at each load, infinite where none may be."""

    known: Bands
    margin: float
    seconds: Floats

    def seconds_to_verdict(self) -> float | None:
        """Return how long the shortest way to a verdict takes; None if no number of meetings up to a hundred is one."""
        found = [self._seconds_of(way) for way in (self._level, self._leads, self._lags, self._crosses)]
        return min((seconds for seconds in found if seconds is not None), default=None)

    def _seconds_of(self, wanted: Callable[[float], Floats]) -> float | None:
        """Return the seconds of the fewest meetings that are enough for what they, too, tell of the spread."""
        most = MOST_REPEATS * self.known.mean.size
        enough = bisect_left(range(most), True, key=lambda times: self._sum(wanted, times) <= times)
        seconds = float(self._cost(wanted(self.known.df + enough)).sum())
        return seconds if enough < most and np.isfinite(seconds) else None

    def _sum(self, wanted: Callable[[float], Floats], times: int) -> float:
        return float(wanted(self.known.df + times).sum())

    def _level(self, df: float) -> Floats:
        """Both arms within the margin of each other at every load."""
        return self._meetings(np.log1p(self.margin) - np.abs(self.known.mean), ALPHA, df)

    def _leads(self, df: float) -> Floats:
        return self._one_leads(1.0, df)

    def _lags(self, df: float) -> Floats:
        return self._one_leads(-1.0, df)

    def _one_leads(self, sign: float, df: float) -> Floats:
        """The log-ratio is of this sign beyond doubt at one load, and nowhere beyond the margin on the other side."""
        kept = self._meetings(sign * self.known.mean + np.log1p(self.margin), ALPHA, df)
        if np.isinf(kept).any():
            return kept
        decided = np.maximum(self._decisive(sign, df), kept)
        at = int(np.argmin(self._cost(decided - kept)))
        return np.where(np.arange(kept.size) == at, decided, kept)

    def _crosses(self, df: float) -> Floats:
        """Of each sign at one load beyond doubt."""
        found = np.zeros_like(self.known.mean)
        for sign in (1.0, -1.0):
            decided = self._decisive(sign, df)
            at = int(np.argmin(self._cost(decided)))
            found[at] = max(found[at], decided[at])
        return found

    def _decisive(self, sign: float, df: float) -> Floats:
        led = sign * self.known.mean
        beyond = ALPHA / led.size
        return np.where(led > np.log1p(self.margin), self._meetings(led, beyond, df), np.inf)

    def _cost(self, meetings: Floats) -> Floats:
        """Return the seconds of meetings, by load."""
        return np.multiply(meetings, self.seconds, out=np.zeros_like(meetings), where=meetings > 0)

    def _meetings(self, distance: Floats, beyond: float, df: float) -> Floats:
        """Return how often each load has to be met until a bound lies within ``distance`` of its estimate."""
        known = self.known
        reach = replace(known, df=df).critical(beyond) * known.deviation
        total = np.divide(reach, distance, out=np.full_like(reach, np.inf), where=distance > _NO_DISTANCE) ** 2
        return np.ceil(np.maximum(total - known.repeats, 0.0))

"""From values to pixels: linear or logarithmic, with ticks at 1, 2 and 5."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True)
class Scale:
    """An axis: ``low`` lies at pixel ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return the pixel of a value; beyond the axis, its nearer end."""
        inside = min(max(value, self.low), self.high)
        low, high, at = (math.log(end) if self.log else end for end in (self.low, self.high, inside))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, at_most: int = 5) -> tuple[float, ...]:
        """Return round values within the axis, few enough to read."""
        return _decades(self.low, self.high, at_most) if self.log else _even(self.low, self.high, at_most)


def around(values: Iterable[float], start: float, end: float, *, log: bool) -> Scale:
    """Return the axis that holds all values: a linear one from zero, a logarithmic one between round values."""
    known = list(values)
    low, high = min(known), max(known)
    if log:
        return Scale(_round(low, up=False), _round(high, up=True), start, end, log=True)
    return Scale(min(0.0, low), high * 1.06 or 1.0, start, end)


def across(loads: Sequence[float], start: float, end: float) -> Scale:
    """Return the load axis: logarithmic over the loads; a single one lies in the middle."""
    low, high = min(loads), max(loads)
    if low <= 0:
        return Scale(low, high if high > low else low + 1, start, end)
    return Scale(low, high, start, end, log=True) if high > low else Scale(low / 2, low * 2, start, end, log=True)


def apart(places: Sequence[float], gap: float) -> tuple[int, ...]:
    """Return which of some ascending pixels to label so that no two labels are nearer than ``gap``; the last always."""
    kept: list[int] = []
    for at in reversed(range(len(places))):
        if not kept or places[kept[-1]] - places[at] >= gap:
            kept.append(at)
    return tuple(reversed(kept))


def _decades(low: float, high: float, at_most: int) -> tuple[float, ...]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**power for power in powers for step in steps]
        inside = tuple(value for value in found if low * 0.999 <= value <= high * 1.001)
        if len(inside) <= at_most:
            break
    stride = -(-len(inside) // at_most)
    return inside[::stride] if stride > 1 else inside


def _even(low: float, high: float, at_most: int) -> tuple[float, ...]:
    rough = (high - low) / at_most
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(step * decade for step in _STEPS if step * decade >= rough * 0.999)
    first = math.ceil(low / step)
    return tuple(step * at for at in range(first, math.floor(high / step * 1.0001) + 1))


def _round(value: float, *, up: bool) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    rounds = [step * decade for step in _STEPS]
    return min(r for r in rounds if r >= value * 0.999) if up else max(r for r in rounds if r <= value * 1.001)

"""The highest load at which an arm holds its SLO, from the share of good requests over load."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from whichbits.analyze.curves.left_out import why_left_out
from whichbits.analyze.curves.load_curves import AxisUnit, load_of, load_unit, load_words
from whichbits.analyze.summary import CellSummary, Finding, LeftOut, SloCapacity
from whichbits.language.phrase import first_of, joined, phrase
from whichbits.record.timelines import Floats

SHARE = 0.99
"""An arm holds its SLO at a load if this share of its requests does, failed ones included."""

_Z = 1.96


def slo_capacities(cells: Sequence[CellSummary], arms: Sequence[str], share: float = SHARE) -> tuple[SloCapacity, ...]:
    """Return each arm's capacity under the SLO, the arm that holds most first; nothing without an SLO."""
    unit = load_unit(cells)
    found = [slo_capacity(cells, arm, unit, share) for arm in arms]
    return tuple(sorted((each for each in found if each is not None), key=lambda each: -(each.load or 0)))


def slo_capacity(cells: Sequence[CellSummary], arm: str, unit: AxisUnit, share: float = SHARE) -> SloCapacity | None:
    """Return where the share of good requests first falls below ``share``, linear in log load between loads.

    Its bounds are loads that were met: the highest that is sure to hold and the lowest that is sure to break, by the
    bounds of that share (Wilson 1927; requests of all repeats together); in between nothing tells how it falls. They
    take requests as independent: under a queue that comes and goes they are too narrow. More load is taken to hold no
    better: a load that is proven by many requests speaks for lower ones that were met with few.
    """
    sent, held = slo_counts(cells, arm, unit)
    if not sent:
        return None
    loads = np.array(sorted(sent))
    n, good = np.array([sent[load] for load in loads]), np.array([held[load] for load in loads])
    low, high = wilson(good, n)
    proven = np.maximum.accumulate(low[::-1])[::-1]
    estimate = _last_load(loads, good / n, share)
    sure_to_hold, sure_to_break = _last(loads[proven >= share]), _first(loads[high < share])
    if estimate is None or (sure_to_hold is not None and sure_to_hold > estimate):
        sure_to_hold = estimate
    found = SloCapacity(arm, share, estimate, sure_to_hold, sure_to_break, bool((good / n >= share).all()))
    return replace(found, left_out=_left_out(cells, arm, unit), lowest=float(loads[0]))


def enough(share: float = SHARE) -> int:
    """Return how many requests it takes at least to say that ``share`` hold, all of which do (by Wilson's bound)."""
    return math.ceil(round(share / (1 - share) * _Z**2, 6))


def slo_bracket(
    cells: Sequence[CellSummary], arm: str, unit: AxisUnit, share: float = SHARE
) -> tuple[float | None, float | None]:
    """Return the highest load up to which every measured one holds, and the first that does not, as far as met."""
    sent, held = slo_counts(cells, arm, unit)
    loads = sorted(sent)
    broken = next((at for at, load in enumerate(loads) if held[load] < share * sent[load]), len(loads))
    return (loads[broken - 1] if broken else None, loads[broken] if broken < len(loads) else None)


def slo_loads(cells: Sequence[CellSummary]) -> Iterator[Finding]:
    """Say up to which load each arm holds the SLO, the arm that holds most first."""
    held = slo_capacities(cells, tuple(dict.fromkeys(cell.arm for cell in cells)))
    if held:
        words = {"concurrency": phrase("concurrent requests"), "request_rate": "requests/s"}[load_unit(cells)]
        told = first_of("; ", [_told(capacity) for capacity in held])
        text = phrase(
            "{share:.0%} of requests hold the SLO (loads in {words}, 95 % intervals in parentheses): {told}.",
            share=held[0].share,
            words=words,
            told=told,
        )
        yield Finding("observed", "slo_load", text, tuple(_shares(cells, capacity.arm) for capacity in held))


def _told(capacity: SloCapacity) -> str:
    if capacity.load is None:
        unknown = below_use(capacity)
        return (
            phrase("{arm} at no load", arm=capacity.arm)
            if unknown is None
            else phrase("{arm} {unknown}", arm=capacity.arm, unknown=unknown)
        )
    return phrase("{arm} up to {held}", arm=capacity.arm, held=held_words(capacity))


def held_words(capacity: SloCapacity) -> str:
    """Return up to which load the arm holds, and how sure that is: ``129 (117 to 131)``, ``at least 32``.

    Where so few requests were sent that one more miss would break the share, even the lowest load is not sure.
    """
    if capacity.load is None:
        return below_use(capacity) or phrase("not even at the lowest load")
    load, low, high = map(load_words, (capacity.load, capacity.low or math.nan, capacity.high or math.nan))
    held = phrase("at least {load}", load=load) if capacity.beyond else load
    if capacity.low is None:
        return phrase("{held} (too few requests to be sure)", held=held)
    if capacity.high is None:
        return held if low == load else phrase("{held} (surely up to {low})", held=held, low=low)
    return held if low == load == high else phrase("{load} ({low} to {high})", load=held, low=low, high=high)


def below_use(capacity: SloCapacity) -> str | None:
    """Say what is not known of an arm that breaks the SLO at the lowest load that can be used; None if all is."""
    whole = [each for each in capacity.left_out if each.repeats == each.of]
    if capacity.load is not None or not whole or whole[0].load >= (capacity.lowest or 0):
        return None
    return phrase("not known: {why} at {load}", why=whole[0].why, load=load_words(whole[0].load))


def _shares(cells: Sequence[CellSummary], arm: str) -> str:
    sent, held = slo_counts(cells, arm, load_unit(cells))
    return phrase("{arm}: ", arm=arm) + joined(
        ", ",
        (
            phrase("{held:.0f} of {sent} at {load:g}", held=held[load], sent=sent[load], load=load)
            for load in sorted(sent)
        ),
    )


def wilson(good: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return the 95 % score interval of a share."""
    centre = (good + _Z**2 / 2) / (n + _Z**2)
    reach = _Z / (n + _Z**2) * np.sqrt(good * (n - good) / n + _Z**2 / 4)
    return centre - reach, centre + reach


def slo_counts(cells: Sequence[CellSummary], arm: str, unit: AxisUnit) -> tuple[dict[float, int], dict[float, float]]:
    """Return by load how many requests were sent and how many of them hold, of the cells that can be used."""
    sent: dict[float, int] = defaultdict(int)
    held: dict[float, float] = defaultdict(float)
    for cell in cells:
        load = load_of(cell, unit)
        if cell.arm == arm and load is not None and cell.slo_share is not None and _why_unused(cell) is None:
            sent[load] += cell.requests
            held[load] += cell.slo_share * cell.requests
    return sent, held


def _left_out(cells: Sequence[CellSummary], arm: str, unit: AxisUnit) -> tuple[LeftOut, ...]:
    met: dict[float, list[str | None]] = defaultdict(list)
    for cell in cells:
        load = load_of(cell, unit)
        if cell.arm == arm and load is not None:
            met[load].append(_why_unused(cell))
    unused = {load: [why for why in reasons if why is not None] for load, reasons in sorted(met.items())}
    return tuple(
        LeftOut(load, joined(", ", dict.fromkeys(why)), len(why), len(met[load])) for load, why in unused.items() if why
    )


def _why_unused(cell: CellSummary) -> str | None:
    """Say why a cell tells nothing of the SLO; failed requests do: they break it."""
    return why_left_out(cell) if cell.state != "done" or cell.client_verdict == "client_limited" else None


def _first(loads: Floats) -> float | None:
    return float(loads[0]) if loads.size else None


def _last(loads: Floats) -> float | None:
    return float(loads[-1]) if loads.size else None


def _last_load(loads: Floats, shares: Floats, wanted: float) -> float | None:
    """Return the load up to which all shares are at least ``wanted``; None if the first is not."""
    broken = np.flatnonzero(shares < wanted)
    if not broken.size:
        return float(loads[-1])
    right = int(broken[0])
    if right == 0:
        return None
    before, after = shares[right - 1], shares[right]
    along = (before - wanted) / (before - after)
    return float(loads[right - 1] * (loads[right] / loads[right - 1]) ** along)

"""What each replica's engines counted during each cell, out of the raw scrapes around and within it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import get_args

from whichbits.record.scrapes import Scrape
from whichbits.serve.metrics import EngineCounters, Timed, difference, read_exposition, restarted
from whichbits.serve.metrics.counters import counters_of
from whichbits.serve.metrics.exposition import Exposition
from whichbits.serve.metrics.histogram import Histogram, read_histogram
from whichbits.serve.metrics.histogram import growth as observed
from whichbits.serve.metrics.rates import Moment


@dataclass(frozen=True)
class Counted:
    """One replica over one cell.

    ``total`` and ``engines`` (by the label of the engine core, "" if there is one only) are growths from the scrape
    before the cell to the one after it; ``restarted`` names the cores that began to count anew in between, of which
    no growth is known. ``during`` holds the states while the cell ran.
    """

    total: EngineCounters
    engines: Mapping[str, EngineCounters] = field(default_factory=dict)
    restarted: tuple[str, ...] = ()
    histograms: Mapping[Timed, Histogram] = field(default_factory=dict)
    during: tuple[Moment, ...] = ()


_BUCKET = re.compile(r"^\S+_bucket\{.*\n", re.MULTILINE)
"""Most lines of a scrape; histograms are read of the outer two only, and there are many within a cell."""

CellCounts = Mapping[str, Counted]
"""By replica."""


@dataclass(frozen=True)
class _Reading:
    """One scrape, read."""

    time_ns: int
    total: EngineCounters
    engines: Mapping[str, EngineCounters]
    exposition: Exposition | None


def counted(scrapes: Iterable[Scrape]) -> dict[int, dict[str, Counted]]:
    """Return what each replica counted, by cell and replica; cells without both outer scrapes are left out.

    Where a cell was begun twice (a resumed run), its last beginning counts.
    """
    begun: dict[tuple[int, str], list[_Reading]] = {}
    found: dict[int, dict[str, Counted]] = {}
    for scrape in sorted(scrapes, key=lambda scrape: scrape.time_ns):
        if scrape.cell is None:
            continue
        place = (scrape.cell, scrape.replica)
        if scrape.phase == "before":
            begun[place] = [_read(scrape)]
        elif place in begun:
            begun[place].append(_read(scrape))
            if scrape.phase == "after":
                found.setdefault(scrape.cell, {})[scrape.replica] = _counted(begun[place])
    return found


def _read(scrape: Scrape) -> _Reading:
    within = scrape.phase == "during"
    exposition = read_exposition(_BUCKET.sub("", scrape.text) if within else scrape.text)
    if exposition is None:
        return _Reading(scrape.time_ns, EngineCounters(), {}, None)
    engines = {label: counters_of(exposition.of_label(label)) for label in exposition.labels}
    return _Reading(scrape.time_ns, counters_of(exposition), engines, None if within else exposition)


def _counted(readings: Sequence[_Reading]) -> Counted:
    before, after = readings[0], readings[-1]
    lost = tuple(label for label in after.engines if _restarted(readings, label))
    return Counted(
        total=_growth(before.total, after.total, lost=bool(lost)),
        engines={
            label: _growth(before.engines.get(label, EngineCounters()), late, lost=label in lost)
            for label, late in after.engines.items()
        },
        restarted=lost,
        histograms={} if lost else _observed(before.exposition, after.exposition),
        during=tuple(Moment(reading.time_ns, reading.total) for reading in readings[1:-1]),
    )


def _restarted(readings: Sequence[_Reading], label: str) -> bool:
    series = [reading.engines[label] for reading in readings if label in reading.engines]
    return any(restarted(earlier, later) for earlier, later in pairwise(series))


def _growth(before: EngineCounters, after: EngineCounters, *, lost: bool) -> EngineCounters:
    """Return a growth; from nothing, that is of unknown counts, where what was counted is lost."""
    return difference(EngineCounters() if lost else before, after)


def _observed(before: Exposition | None, after: Exposition | None) -> dict[Timed, Histogram]:
    if before is None or after is None:
        return {}
    timed: tuple[Timed, ...] = get_args(Timed)
    pairs = ((name, read_histogram(before, name), read_histogram(after, name)) for name in timed)
    grown = ((name, observed(early, late)) for name, early, late in pairs if early and late)
    return {name: histogram for name, histogram in grown if histogram is not None}

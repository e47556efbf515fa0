"""What each replica's engines counted during each cell, out of the raw scrapes around and within it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from whichbits.record.scrapes import Phase, Scrape
from whichbits.serve.metrics import EngineCounters, Timed, difference, read_exposition, restarted
from whichbits.serve.metrics.counters import counters_of, engines_of, lines_of_counters, lines_read
from whichbits.serve.metrics.histogram import Histogram, histograms_of
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


CellCounts = Mapping[str, Counted]
"""By replica."""


@dataclass(frozen=True)
class _Reading:
    """One scrape, read: its text is let go, since a run may hold more of it than memory."""

    cell: int
    replica: str
    phase: Phase
    time_ns: int
    total: EngineCounters
    engines: Mapping[str, EngineCounters]
    histograms: Mapping[Timed, Histogram]


def counted(scrapes: Iterable[Scrape]) -> dict[int, dict[str, Counted]]:
    """Return what each replica counted, by cell and replica; cells without both outer scrapes are left out.

    ``scrapes`` may come one at a time and in any order. Where a cell was begun twice (a resumed run), its last
    beginning counts.
    """
    readings = [_read(scrape.cell, scrape) for scrape in scrapes if scrape.cell is not None]
    begun: dict[tuple[int, str], list[_Reading]] = {}
    found: dict[int, dict[str, Counted]] = {}
    for reading in sorted(readings, key=lambda reading: reading.time_ns):
        place = (reading.cell, reading.replica)
        if reading.phase == "before":
            begun[place] = [reading]
        elif place in begun:
            begun[place].append(reading)
            if reading.phase == "after":
                found.setdefault(reading.cell, {})[reading.replica] = _counted(begun.pop(place))
    return found


def _read(cell: int, scrape: Scrape) -> _Reading:
    within = scrape.phase == "during"
    # Histograms are most of a scrape; they are read of the outer two only, and there are many within a cell.
    exposition = read_exposition(lines_of_counters(scrape.text) if within else lines_read(scrape.text))
    total = EngineCounters() if exposition is None else counters_of(exposition)
    return _Reading(
        cell=cell,
        replica=scrape.replica,
        phase=scrape.phase,
        time_ns=scrape.time_ns,
        total=total,
        engines={} if exposition is None else engines_of(exposition, total),
        histograms={} if within or exposition is None else histograms_of(exposition),
    )


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
        histograms={} if lost else _observed(before, after),
        during=tuple(Moment(reading.time_ns, reading.total) for reading in readings[1:-1]),
    )


def _restarted(readings: Sequence[_Reading], label: str) -> bool:
    series = [reading.engines[label] for reading in readings if label in reading.engines]
    return any(restarted(earlier, later) for earlier, later in pairwise(series))


def _growth(before: EngineCounters, after: EngineCounters, *, lost: bool) -> EngineCounters:
    """Return a growth; from nothing, that is of unknown counts, where what was counted is lost."""
    return difference(EngineCounters() if lost else before, after)


def _observed(before: _Reading, after: _Reading) -> dict[Timed, Histogram]:
    pairs = ((timed, before.histograms.get(timed), late) for timed, late in after.histograms.items())
    grown = ((timed, observed(early, late)) for timed, early, late in pairs if early is not None)
    return {timed: histogram for timed, histogram in grown if histogram is not None}

"""What /metrics says: text to samples, samples to one vocabulary of counters, histograms and levels."""

from whichbits.serve.metrics.counters import (
    COUNTS,
    CacheUnit,
    EngineCounters,
    added,
    counters_of,
    difference,
    read_counters,
    read_engines,
    restarted,
)
from whichbits.serve.metrics.exposition import Exposition, read_exposition
from whichbits.serve.metrics.names import ENGINES, NAMES, Count, Engine, Name, Prefix, Quantity, State, Timed, names
from whichbits.serve.metrics.text import Sample, parse, total

__all__ = [
    "COUNTS",
    "ENGINES",
    "NAMES",
    "CacheUnit",
    "Count",
    "Engine",
    "EngineCounters",
    "Exposition",
    "Name",
    "Prefix",
    "Quantity",
    "Sample",
    "State",
    "Timed",
    "added",
    "counters_of",
    "difference",
    "names",
    "parse",
    "read_counters",
    "read_engines",
    "read_exposition",
    "restarted",
    "total",
]

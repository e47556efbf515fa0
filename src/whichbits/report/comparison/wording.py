"""A comparison in words: what is compared, how much it changed, how sure that is, and why a number is missing."""

from collections.abc import Iterable, Sequence

from whichbits.analyze import amounts
from whichbits.analyze.comparison.comparison import PairComparison, Row
from whichbits.analyze.comparison.gates import GateOutcome
from whichbits.analyze.curves.load_curves import METRICS
from whichbits.language.amounts import amount
from whichbits.language.phrase import Phrase, joined, phrase
from whichbits.language.recognition import recognise
from whichbits.report.wording import MISSING
from whichbits.study.model import load_name

VERDICTS = {
    "better": phrase("better"),
    "worse": phrase("WORSE"),
    "negligible": phrase("negligible"),
    "equal": phrase("equal"),
    "unclear": phrase("unclear"),
    "thin": phrase("thin"),
    "no_interval": phrase("no interval"),
    "not_comparable": phrase("not comparable"),
}
GATE_VERDICTS = {
    "passed": phrase("passed"),
    "failed": phrase("FAILED"),
    "uncertain": phrase("uncertain"),
    "undecidable": phrase("cannot be decided"),
}
_FACT_NAMES = {
    "model": phrase("model"),
    "weight format": phrase("weight format"),
    "kernel": phrase("kernel"),
    "engine": phrase("engine"),
    "hardware": phrase("hardware"),
    "engine version": phrase("engine version"),
    "source": phrase("source"),
    "tool": phrase("tool"),
}
_BESIDES = {"tpot_ms.mean": "tpot_ms.p50", "tpot_ms.p90": "tpot_ms.p50", "ttft_ms.p90": "ttft_ms.p50"}
"""Left to ``--json`` where the other one is there."""


def fact_name(name: str) -> str:
    """Return what a fact in which two sides differ is called."""
    return _FACT_NAMES.get(name, name)


def title_of(pair: PairComparison) -> str:
    """Return what is compared."""
    return phrase("{candidate} against {baseline}", candidate=pair.candidate, baseline=pair.baseline)


def change_text(row: Row) -> str:
    """Return a ratio as a change: ``+12 %``, ``-3.4 %``."""
    return MISSING if row.ratio is None else percent(row.ratio)


def interval_text(row: Row) -> str:
    """Return the interval of the change: ``-5.1 to +2.0 %``."""
    if row.low is None or row.high is None:
        return MISSING
    return phrase("{low} to {high} %", low=_percent(row.low), high=_percent(row.high))


def percent(ratio: float) -> str:
    """Return how far a ratio lies from 1, with its sign."""
    return f"{_percent(ratio)} %"


def metric_name(row: Row) -> str:
    """Return what a row's metric is called."""
    name = METRICS[row.metric].name
    return name.titled() if isinstance(name, Phrase) else name[:1].upper() + name[1:]


def load_text(row: Row) -> str:
    """Return a row's load as studies write it."""
    return load_name(row.concurrency, row.request_rate)


def shown(pair: PairComparison) -> list[Row]:
    """Return the rows that are compared and tell most; none of one measurement held against itself."""
    return [] if pair.identical else [row for row in _telling(pair) if not _is_left_open(pair, row)]


def left_open(pair: PairComparison) -> list[Row]:
    """Return the rows within the margin that so few repeats cannot show to be equal: they are told in one line."""
    return [row for row in _telling(pair) if _is_left_open(pair, row)]


def _telling(pair: PairComparison) -> list[Row]:
    compared = [row for row in pair.rows if row.refusal is None]
    metrics = {row.metric for row in compared}
    return [row for row in compared if _BESIDES.get(row.metric) not in metrics]


def _is_left_open(pair: PairComparison, row: Row) -> bool:
    return pair.coarse is not None and row.verdict == "unclear" and row.practical is False


def open_text(pair: PairComparison, margin: float) -> str | None:
    """Say once which rows so few repeats leave open, and how many would do; None if there are none."""
    rows, few = left_open(pair), pair.coarse
    if not rows or few is None:
        return None
    said = phrase(
        "Within {margin:g} %, but {times} each leave at best ±{reach:.1f} %, too much to call them equal: {names}",
        margin=margin * 100,
        times=amounts.repeats(few.repeats),
        reach=few.reach * 100,
        names=names_of(rows, _telling(pair)),
    )
    if few.needed is None:
        return said
    return joined(". ", [said, phrase("At least {times} can.", times=amounts.repeats(few.needed))])


def refusals(pair: PairComparison) -> dict[str, str]:
    """Return what was not compared, by reason."""
    found: dict[str, list[Row]] = {}
    for row in pair.rows:
        if row.refusal is not None:
            found.setdefault(row.refusal, []).append(row)
    return {reason: names_of(rows, pair.rows) for reason, rows in found.items()}


def remarks(pair: PairComparison) -> dict[str, str]:
    """Return what needs a remark, by remark."""
    found: dict[str, list[Row]] = {}
    for row in (among := _telling(pair)):
        for note in row.notes:
            found.setdefault(note, []).append(row)
    return {note: names_of(rows, among) for note, rows in found.items()}


def names_of(rows: Sequence[Row], among: Sequence[Row]) -> str:
    """Return loads and metrics: ``all metrics at c1, c8; median TTFT, p99 TTFT at c4``.

    All metrics are those that ``among`` has at that load.
    """
    whole = [load for load in _loads(rows) if _count(rows, load) == _count(among, load) > 1]
    everything = [phrase("all metrics at {loads}", loads=", ".join(whole))] if whole else []
    rest = [row for row in rows if load_text(row) not in whole]
    return joined("; ", [*everything, *([_by_metric(rest)] if rest else [])])


def _by_metric(rows: Iterable[Row]) -> str:
    """Return metrics of the same loads together."""
    loads: dict[str, list[str]] = {}
    for row in rows:
        loads.setdefault(METRICS[row.metric].name, []).append(load_text(row))
    alike: dict[str, list[str]] = {}
    for name, at in loads.items():
        alike.setdefault(", ".join(at), []).append(name)
    parts = [phrase("{name} at {loads}", name=joined(", ", names), loads=at) for at, names in alike.items()]
    return joined("; ", parts)


def _loads(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(load_text(row) for row in rows))


def _count(rows: Iterable[Row], load: str) -> int:
    return sum(load_text(row) == load for row in rows)


def method_text(pair: PairComparison, margin: float) -> str:
    """Say how the intervals came about, and what they are held against."""
    if pair.identical:
        return phrase("both sides are the same requests: equal, there is nothing to compare")
    compared = [row for row in pair.rows if row.ratio is not None]
    if not compared:
        return phrase("nothing can be compared")
    paired = all(row.paired for row in compared)
    how = phrase("paired by request") if paired else phrase("not paired: prompts differ")
    if not any(row.low is not None for row in compared):
        how = phrase("no requests are kept: no intervals")
    repeats = max((row.repeats for row in compared), default=0)
    return phrase(
        "{how}; {times}; equal within {margin:g} %; intervals hold 95 %",
        how=how,
        times=amounts.repeats(repeats),
        margin=margin * 100,
    )


def gate_evidence(gate: GateOutcome) -> str:
    """Return the rows that decided a gate, and where it was held against nothing."""
    told: list[str] = [
        phrase("{candidate} at {load}: {change}", candidate=candidate, load=load_text(row), change=_measured(row))
        for _, candidate, row in gate.rows
    ]
    if gate.verdict == "passed" and gate.missed:
        count = gate.compared + len(gate.missed)
        told.append(phrase("at {compared} of {loads}", compared=gate.compared, loads=amount(count, "load")))
    return joined("; ", [*told, *missed_texts(gate)])


def missed_texts(gate: GateOutcome) -> list[str]:
    """Return where a gate was held against nothing, with the reason: ``not compared at c1, c4 (b: client limited)``."""
    loads: dict[str, list[str]] = {}
    for _, _, row in gate.missed:
        loads.setdefault(row.refusal or "", []).append(load_text(row))
    return [
        phrase("not compared at {loads} ({reason})", loads=", ".join(dict.fromkeys(at)), reason=recognise(reason))
        for reason, at in loads.items()
    ]


def _measured(row: Row) -> str:
    interval = phrase("no interval") if row.low is None else interval_text(row)
    return phrase("{change} ({interval})", change=change_text(row), interval=interval)


def _percent(ratio: float) -> str:
    change = (ratio - 1) * 100
    return f"{change:+.0f}" if abs(change) >= 99.5 else f"{change:+.1f}"

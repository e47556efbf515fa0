"""The table of cells that the terminal, HTML and Markdown share: grouped by load, repeats pooled, the best marked."""

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from whichbits.analyze.summary import Summary
from whichbits.language.phrase import joined, phrase
from whichbits.report.cells.measures import MEASURES, Measure
from whichbits.report.cells.pooled import Pooled, pooled
from whichbits.report.wording import BEST, MISSING, STATES, THIN, VERDICTS, number

_GRAVITY = {"client_ok": 0, "client_suspect": 1, "client_limited": 2}


@dataclass(frozen=True)
class Value:
    """One number as it stands in a table."""

    number: float | None
    thin: bool
    best: bool
    spread: float | None = None
    """Half the range of the repeats over the number; None if there is one only."""

    @property
    def text(self) -> str:
        """The number with its thin mark, without the best mark: ``~105``."""
        if self.number is None:
            return MISSING
        return f"{THIN if self.thin else ''}{number(self.number)}"

    @property
    def spread_text(self) -> str:
        """How far repeats are apart: ``±12%``; empty if there is one only, or if they agree within half a percent."""
        return "" if self.spread is None or self.spread < 0.005 else f"±{self.spread:.0%}"

    @property
    def marked(self) -> str:
        """The number with both marks, as wide whether best or not, so that columns align: ``~105*``."""
        return f"{self.text}{BEST if self.best else ' '}"


@dataclass(frozen=True)
class Row:
    """One arm at one load; ``values`` follow ``MEASURES``."""

    pooled: Pooled
    values: dict[str, Value]

    @property
    def arm(self) -> str:
        """The arm's name."""
        return self.pooled.arm

    @property
    def load(self) -> str:
        """The load as studies write it."""
        return self.pooled.load_text

    @property
    def repeats(self) -> int:
        """How many cells stand behind the row."""
        return len(self.pooled.counted)

    @property
    def requests(self) -> int:
        """Requests of all repeats."""
        return sum(cell.requests for cell in self.pooled.cells)

    @property
    def failed(self) -> int:
        """Failed requests of all repeats, without those that the user's stop cut off."""
        return sum(cell.failed for cell in self.pooled.cells)

    @property
    def verdict(self) -> str:
        """Whether the cell ran to its end, and the client's gravest verdict, in a word."""
        unfinished = Counter(cell.state for cell in self.pooled.cells if cell.state != "done")
        if unfinished:
            total = len(self.pooled.cells)
            return joined(", ", (_ended(state, count, total) for state, count in unfinished.items()))
        verdicts = [cell.client_verdict for cell in self.pooled.cells]
        gravest = max(verdicts, key=lambda verdict: _GRAVITY.get(verdict or "", -1))
        word, alike = VERDICTS.get(gravest, gravest or MISSING), verdicts.count(gravest)
        if alike == len(verdicts) or gravest in ("client_ok", None):
            return word
        return phrase("{count} of {of} {verdict}", count=alike, of=len(verdicts), verdict=word)


def _ended(state: str, count: int, total: int) -> str:
    words = STATES.get(state, state)
    return words if total == 1 else phrase("{count} of {count_2} {words}", count=count, count_2=total, words=words)


def groups(summary: Summary) -> tuple[tuple[Row, ...], ...]:
    """Return the rows of each load together, loads rising, arms in the study's order."""
    loads = groupby(pooled(summary), key=lambda each: each.load_text)
    return tuple(_group(tuple(alike)) for _, alike in loads)


def has_thin(summary: Summary) -> bool:
    """Say whether any shown percentile is thin, so that a legend is needed."""
    return any(value.thin for group in groups(summary) for row in group for value in row.values.values())


def has_spread(summary: Summary) -> bool:
    """Say whether any arm has met a load more than once: planned repeats that never ran have no spread."""
    return any(value.spread is not None for group in groups(summary) for row in group for value in row.values.values())


def _group(alike: tuple[Pooled, ...]) -> tuple[Row, ...]:
    best = {path: _best(measure, alike) for path, measure in MEASURES.items()}
    return tuple(
        Row(each, {path: _value(measure, each, best[path]) for path, measure in MEASURES.items()}) for each in alike
    )


def _value(measure: Measure, each: Pooled, best: str | None) -> Value:
    middle = each.middle(measure.read)
    if middle is None:
        return Value(None, thin=False, best=False)
    return Value(
        middle.value,
        thin=any(measure.is_thin(cell) for cell in each.counted),
        best=best is not None and _competes(each) and number(middle.value) == best,
        spread=(middle.high - middle.low) / 2 / middle.value if middle.n > 1 and middle.value else None,
    )


def _best(measure: Measure, alike: tuple[Pooled, ...]) -> str | None:
    """Return the best value as it is written: two that read alike share the mark."""
    values = [value for each in alike if _competes(each) and (value := each.median(measure.read)) is not None]
    if measure.better is None or len(values) < 2:
        return None
    return number(min(values) if measure.better == "lower" else max(values))


def _competes(each: Pooled) -> bool:
    """Say whether the values stand for the arm: not where the client was the limit, nor where a cell was cut short."""
    return all(cell.client_verdict != "client_limited" and cell.state == "done" for cell in each.counted)
